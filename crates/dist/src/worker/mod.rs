//! `tensorflow.WorkerService`: the calls of masters and other tasks.

mod graphs;
pub mod recent_requests;
mod recv_tensor;
mod rendezvous;
mod request_ids;
mod run_graph;
mod step_table;
pub mod task;
#[cfg(test)]
mod tests;
mod transfer_log;
mod worker_sessions;

pub use recv_tensor::sender;
pub use step_table::StepTable;
pub use transfer_log::TransferLog;

use crate::cluster::{Connector, Membership};
use crate::log::Log;
use crate::threads::client_threads::blocking;
use crate::wire::device::attributes;
use crate::worker::recent_requests::RecentRequests;
use crate::worker::task::Task;
use run_graph::PartialRuns;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use thalweg_core::error::Result;
use thalweg_proto::{
    CleanupAllRequest, CleanupAllResponse, CleanupGraphRequest, CleanupGraphResponse, GetStatusResponse,
    LoggingRequest, LoggingResponse,
};
use worker_sessions::WorkerSessions;

pub struct Worker {
    pub task: Arc<Task>,
    pub connector: Connector,
    /// Its membership of the server's own cluster.
    pub home: Arc<Membership>,
    pub steps: Arc<StepTable>,
    sessions: WorkerSessions,
    recent: RecentRequests,
    partial: Mutex<PartialRuns>,
    log: Log,
}

impl Worker {
    pub fn new(task: Arc<Task>, connector: Connector, home: Membership, log: Log) -> Worker {
        let home = Arc::new(home);
        let steps = Arc::new(StepTable::new(home.clone()));
        Worker {
            task,
            connector,
            home,
            steps,
            sessions: WorkerSessions::default(),
            recent: RecentRequests::default(),
            partial: Mutex::default(),
            log,
        }
    }

    pub fn get_status(&self) -> GetStatusResponse {
        GetStatusResponse { device_attributes: self.task.devices().iter().map(attributes).collect() }
    }

    pub fn cleanup_graph(&self, request: &CleanupGraphRequest) -> CleanupGraphResponse {
        self.end_step(request.step_id as u64);
        CleanupGraphResponse {}
    }

    pub async fn cleanup_all(&self, request: CleanupAllRequest) -> Result<CleanupAllResponse> {
        let task = self.task.clone();
        let clear = move || {
            task.clear(&request.container);
            Ok(CleanupAllResponse {})
        };
        blocking(clear).await
    }

    pub fn logging(&self, request: &LoggingRequest) -> LoggingResponse {
        self.steps.transfers.serve(request)
    }

    /// Removes steps and sessions of peers that are gone.
    pub fn collect(&self, now: Instant) {
        self.steps.collect();
        self.collect_sessions(now);
    }

    fn logged<T>(&self, call: &str, result: Result<T>) -> Result<T> {
        match &result {
            Ok(_) => self.log.debug(call, &[]),
            Err(e) => self.log.debug(call, &[("code", &e.code().name()), ("error", &e.wire_message())]),
        }
        result
    }
}
