//! Reset, and the devices it resets.

use super::Master;
use super::session_cluster::links_passing;
use crate::auth::Caller;
use crate::threads::client_threads::blocking;
use crate::wire::device::attributes;
use crate::wire::error::no_session_any_more;
use thalweg_core::error::{Code, Result};
use thalweg_proto::{
    CleanupAllRequest, CleanupAllResponse, ListDevicesResponse, ResetRequest, ResetResponse,
};

/// Closes all sessions, whatever the containers, and drops the state in these containers on all tasks, as TensorFlow's master does.
pub async fn reset(master: &Master, request: ResetRequest) -> Result<ResetResponse> {
    let links = links_passing(&master.worker.home.links, &request.device_filters)?;
    let (sessions, task) = (master.sessions.clone(), master.task.clone());
    let all = CleanupAllRequest { container: request.container.clone() };
    let closed = blocking(move || {
        let closed = sessions.close_all();
        task.clear(&request.container);
        Ok(closed)
    })
    .await?;
    let calls: Vec<_> = links.iter().map(|link| link.call("CleanupAll", &all)).collect();
    let mut failed = Ok(());
    for call in calls {
        let cleaned: Result<CleanupAllResponse> = call.answer().await;
        failed = failed.and(cleaned.map(drop));
    }
    failed?;
    master.log.info("reset", &[("sessions_closed", &closed)]);
    Ok(ResetResponse {})
}

/// All devices of a session, or of the task if no session is named.
pub fn list_devices(master: &Master, caller: &Caller, handle: &str) -> Result<ListDevicesResponse> {
    let (task, devices) = if handle.is_empty() {
        (master.task.name.clone(), master.task.devices())
    } else {
        let session = master.sessions.find(handle, caller).map_err(|e| match e.code() {
            Code::Aborted => no_session_any_more(Code::InvalidArgument, handle),
            _ => e,
        })?;
        (session.task.clone(), session.session.devices().to_vec())
    };
    let ours = format!("{task}/device:");
    let (local, remote): (Vec<_>, Vec<_>) = devices.iter().partition(|d| d.name().starts_with(&ours));
    Ok(ListDevicesResponse {
        local_device: local.into_iter().map(attributes).collect(),
        remote_device: remote.into_iter().map(attributes).collect(),
    })
}
