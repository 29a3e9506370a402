//! CreateSession.

use super::Master;
use super::cost_model::CostModel;
use super::session_cluster::{SessionOpener, open_session};
use crate::auth::Caller;
use crate::cluster::Membership;
use crate::master::sessions::MasterSession;
use crate::wire::config::{asks_for_xla, ignored, isolates_state, session_options};
use std::sync::Arc;
use thalweg_core::error::{Result, internal};
use thalweg_proto::{CreateSessionRequest, CreateSessionResponse};
use thalweg_runtime::Session;
use thalweg_runtime::session::cluster::Cluster;

pub async fn create_session(
    master: &Master,
    caller: Caller,
    request: CreateSessionRequest,
) -> Result<CreateSessionResponse> {
    let config = request.config.unwrap_or_default();
    let options = session_options(&master.task.options, &config)?;
    for option in ignored(&config) {
        master.log.warn("option_ignored", &[("option", &option)]);
    }
    if master.log.warns() && request.graph_def.as_ref().is_some_and(asks_for_xla) {
        master.log.warn("option_ignored", &[("option", &"jit_compile")]);
    }
    master.sessions.check_room(&caller)?;
    let worker = &master.worker;
    let us = match config.cluster_def.as_ref().filter(|c| !c.job.is_empty()) {
        Some(brought) => Arc::new(Membership::of_master(&worker.connector, brought, &request.target)?),
        None => worker.home.clone(),
    };
    let mut devices = master.task.session_devices(&us.task, &options, isolates_state(&config))?;
    let first = devices.first().ok_or_else(|| internal("a task without devices"))?;
    // Unique across sessions and processes, so that a handle from before a restart is not found.
    let handle = format!("{:016x}", (first.context.entropy)());
    let opener = SessionOpener { us: &us, device: first, steps: &worker.steps, log: master.log };
    let others = open_session(opener, &handle, &config).await?;
    let cluster = others.map(|(theirs, cluster)| {
        devices.extend(theirs);
        cluster
    });
    let (registry, timeout) = (master.task.registry.clone(), options.operation_timeout);
    let party = caller.party.clone();
    let cost_model = CostModel::of(config.graph_options.as_ref());
    let sessions = master.sessions.clone();
    let make = move || {
        let others = cluster.clone().map(|c| c as Arc<dyn Cluster>);
        let session = Session::in_cluster(registry, options, devices, others)?;
        session.extend_with(|g| request.graph_def.as_ref().map_or(Ok(()), |def| g.import(def)))?;
        let (task, owner) = (us.task.clone(), caller.identity);
        let session = MasterSession::new(handle.clone(), task, owner, session, cluster, timeout, cost_model);
        Ok((handle, sessions.add(session)?))
    };
    let (handle, dropped) = master.task.threads.prepare(&party, make).await?;
    if let Some(old) = dropped {
        master.log.info("session_dropped", &[("session", &old), ("why", &"too many sessions")]);
    }
    master.log.info("session_created", &[("session", &handle), ("open", &master.sessions.len())]);
    Ok(CreateSessionResponse { session_handle: handle, graph_version: 0 })
}
