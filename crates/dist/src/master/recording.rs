//! Tensor transfers between tasks in a traced step: each task records its own, and the master fetches them (Logging).

use super::session_cluster::SessionCluster;
use crate::cluster::Link;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_proto::{DeviceStepStats, LoggingRequest, LoggingResponse};

/// While this lives, the tasks of the step record.
pub struct Recording {
    cluster: Arc<SessionCluster>,
    links: Vec<Arc<Link>>,
}

impl Recording {
    /// Starts on this task and on these others. A task that does not respond is skipped: tracing must not fail.
    pub async fn begin(cluster: &Arc<SessionCluster>, tasks: &[usize]) -> Recording {
        let links = cluster.links_to(tasks);
        let recording = Recording { cluster: cluster.clone(), links };
        recording.ask(&LoggingRequest { enable_rpc_logging: true, ..Default::default() }).await;
        recording
    }

    /// The record of a step, by device.
    pub async fn of_step(&self, id: u64) -> Vec<DeviceStepStats> {
        let answers =
            self.ask(&LoggingRequest { fetch_step_id: vec![id as i64], ..Default::default() }).await;
        let steps = answers.into_iter().flat_map(|a| a.step).filter_map(|s| s.step_stats);
        steps.flat_map(|s| s.dev_stats).collect()
    }

    async fn ask(&self, request: &LoggingRequest) -> Vec<LoggingResponse> {
        let calls: Vec<_> = self.links.iter().map(|link| link.call("Logging", request)).collect();
        let mut answers = vec![self.cluster.transfers().serve(request)];
        for call in calls {
            let answer: Result<LoggingResponse> = call.answer().await;
            answers.extend(answer.ok());
        }
        answers
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let request = LoggingRequest { disable_rpc_logging: true, ..Default::default() };
        self.cluster.transfers().serve(&request);
        for link in &self.links {
            link.call_then("Logging", &request, |_: Result<LoggingResponse>| {});
        }
    }
}
