//! RegisterGraph, DeregisterGraph.

use super::Worker;
use crate::net::server::peer::ConnectionToken;
use crate::threads::awaited_step as steps;
use crate::threads::client_threads::drop_in_background;
use crate::threads::quota::Party;
use crate::wire::config::optimises;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_graph::Graph;
use thalweg_proto::{
    DeregisterGraphRequest, DeregisterGraphResponse, RegisterGraphRequest, RegisterGraphResponse,
};
use thalweg_runtime::task_plans::TaskPlans;
use thalweg_runtime::{RunOptions, Until};

/// Limit of graphs in a session; a master that exceeds it leaks them.
const MAX_GRAPHS: usize = 4096;

impl Worker {
    pub async fn register_graph(
        self: &Arc<Self>,
        request: RegisterGraphRequest,
        connection: &Arc<ConnectionToken>,
        party: &Party,
    ) -> Result<RegisterGraphResponse> {
        let (worker, connection) = (self.clone(), connection.clone());
        let party = party.session(&request.session_handle);
        let register = move |until: &RunOptions| worker.register(request, &connection, until);
        let result = steps::prepare(&self.task.threads, &party, None, register).await;
        self.logged("RegisterGraph", result)
    }

    fn register(
        &self,
        request: RegisterGraphRequest,
        connection: &Arc<ConnectionToken>,
        until: &RunOptions,
    ) -> Result<RegisterGraphResponse> {
        let created = request.create_worker_session_called;
        let session = self.session_used(&request.session_handle, created, connection)?;
        let def = request.graph_def.unwrap_or_default();
        let graph = Graph::from_def(self.task.registry.clone(), &def)?;
        // Registered graphs are whole.
        if let Some(unread) = graph.unread.iter().next() {
            return Err(unread.error.clone());
        }
        let optimise = self.task.options.optimise && request.graph_options.as_ref().is_none_or(optimises);
        let plans = TaskPlans::compile(
            &graph,
            &session.devices,
            &session.kernels,
            request.has_control_flow,
            optimise,
            &Until::new(until.cancel.clone(), until.timeout),
        )?;
        let mut graphs = lock(&session.graphs);
        if graphs.held.len() >= MAX_GRAPHS {
            return Err(thalweg_core::error::resource_exhausted(format_args!(
                "the session has {MAX_GRAPHS} graphs registered; no more are kept"
            )));
        }
        graphs.count += 1;
        let handle = format!("{:016x}", graphs.count);
        graphs.held.insert(handle.clone(), Arc::new(plans));
        Ok(RegisterGraphResponse { graph_handle: handle })
    }

    pub fn deregister_graph(&self, request: &DeregisterGraphRequest) -> Result<DeregisterGraphResponse> {
        let session = self.session(&request.session_handle, request.create_worker_session_called)?;
        let dropped = lock(&session.graphs).held.remove(&request.graph_handle);
        match dropped {
            Some(graph) => {
                drop_in_background(graph);
                Ok(DeregisterGraphResponse {})
            }
            None => Err(invalid!("there is no graph '{}' to deregister", request.graph_handle)),
        }
    }
}
