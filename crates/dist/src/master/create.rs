//! CreateSession.

use super::Master;
use crate::blocking::blocking;
use crate::config::session_options;
use crate::sessions::MasterSession;
use thalweg_core::error::Result;
use thalweg_proto::{CreateSessionRequest, CreateSessionResponse};
use thalweg_runtime::Session;

pub async fn create_session(master: &Master, request: CreateSessionRequest) -> Result<CreateSessionResponse> {
    let task = master.task.clone();
    let session = blocking(move || {
        let config = request.config.unwrap_or_default();
        let options = session_options(&task.options, &config)?;
        let devices = task.session_devices(&options, config.isolate_session_state)?;
        // Differs from session to session and process to process, so that a handle from before a restart finds nothing.
        let seed = devices.first().map_or(0, |d| (d.context.entropy)());
        let timeout = options.operation_timeout;
        let session = Session::with_devices(task.registry.clone(), options, devices)?;
        session.extend_with(|g| request.graph_def.as_ref().map_or(Ok(()), |def| g.import(def)))?;
        Ok(MasterSession::new(format!("{seed:016x}"), session, timeout))
    })
    .await?;
    let handle = session.handle.clone();
    if let Some(old) = master.sessions.add(session) {
        master.log.info("session_dropped", &[("session", &old), ("why", &"too many sessions")]);
    }
    master.log.info("session_created", &[("session", &handle), ("open", &master.sessions.len())]);
    Ok(CreateSessionResponse { session_handle: handle, graph_version: 0 })
}
