//! RunGraph: one step of a registered graph.

use super::Worker;
use super::rendezvous::StepRendezvous;
use crate::net::server::peer::ConnectionToken;
use crate::threads::awaited_step::{CancelOnDrop, MAX_PARTIAL_RUNS, QUICK, ended};
use crate::threads::client_threads::ClientThreads;
use crate::threads::quota::Party;
use crate::wire::error::peer_message;
use crate::wire::metadata;
use crate::wire::tensors::{Contents, feeds, named};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::error::{Error, Result, aborted, internal, resource_exhausted};
use thalweg_core::rendezvous::{Parcel, Rendezvous};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_proto::{CostGraphDef, RunGraphRequest, RunGraphResponse};
use thalweg_runtime::task_plans::{TaskPlans, TaskStep};
use thalweg_runtime::trace::StepTimings;
use tokio::sync::oneshot;

impl Worker {
    pub async fn run_graph(
        self: &Arc<Self>,
        request: RunGraphRequest,
        contents: Contents,
        connection: &Arc<ConnectionToken>,
        party: &Party,
    ) -> Result<RunGraphResponse> {
        let result = self.run(request, contents, connection, party).await;
        self.logged("RunGraph", result)
    }

    /// The text of a step's error, with the task's name in the step's session.
    pub fn message(&self, session: &str, created: bool, e: &Error) -> String {
        match self.session(session, created) {
            Ok(session) => peer_message(&session.us.task, e),
            Err(_) => peer_message(&self.task.name, e),
        }
    }

    async fn run(
        &self,
        request: RunGraphRequest,
        contents: Contents,
        connection: &Arc<ConnectionToken>,
        party: &Party,
    ) -> Result<RunGraphResponse> {
        let created = request.create_worker_session_called;
        let session = self.session_used(&request.session_handle, created, connection)?;
        let plans = lock(&session.graphs).held.get(&request.graph_handle).cloned();
        let plans = plans
            .ok_or_else(|| aborted(format_args!("Graph handle is not found: {}", request.graph_handle)))?;
        let id = request.step_id as u64;
        let (names, values) = feeds(request.send, contents)?;
        let fed: usize = values.iter().map(Tensor::byte_len).sum();
        let step = self.steps.begin_remote(id, &session.us, session.number)?;
        // Checked after the step is in the table, so that a concurrent end of the session does not miss it.
        if session.is_over() {
            self.steps.end(id);
            return Err(self.no_such_session(&request.session_handle));
        }
        for (key, value) in names.iter().zip(values) {
            step.send(key, Parcel::live(value))?;
        }
        let party = &party.session(&request.session_handle);
        let trace = request.exec_opts.is_some_and(|o| o.record_timeline);
        // A partial run continues after this call; the last one waits for it.
        if request.is_partial && !request.is_last_partial_run {
            self.start_partial(party, &plans, id, step.clone(), trace).await?;
            let fetched = fetched(&*step, &request.recv_key).await?;
            let recv = named(request.recv_key, &fetched)?;
            return Ok(RunGraphResponse { recv, ..Default::default() });
        }
        let partial = request.is_partial.then(|| lock(&self.partial).remove(&id)).flatten();
        let Running { answer: running, cancel } = match partial {
            Some(running) => running,
            None => started(&self.task.threads, party, plans, id, step.clone(), trace).await?,
        };
        let values = fetched(&*step, &request.recv_key).await;
        // The plans have the original error; an aborted fetch has a derived one.
        let timings = ended(running).await?;
        let sent = values.iter().flatten().map(Tensor::byte_len).sum();
        session.us.links.note(session.master_task(), fed, sent);
        // Others may still receive its tensors: the end of the call is not the end of the step.
        cancel.release();
        let stats = trace.then(|| metadata::step_stats(&timings, &metadata::short_label));
        Ok(RunGraphResponse {
            recv: named(request.recv_key, &values?)?,
            step_stats: stats,
            cost_graph: Some(CostGraphDef::default()),
            ..Default::default()
        })
    }

    async fn start_partial(
        &self,
        party: &Party,
        plans: &Arc<TaskPlans>,
        id: u64,
        step: Arc<StepRendezvous>,
        trace: bool,
    ) -> Result<()> {
        {
            let partial = lock(&self.partial);
            if partial.contains_key(&id) {
                return Ok(());
            }
            if partial.len() >= MAX_PARTIAL_RUNS {
                return Err(resource_exhausted(format_args!(
                    "{MAX_PARTIAL_RUNS} partial runs on {} have not ended; no more are begun",
                    self.task.name
                )));
            }
        }
        let running = started(&self.task.threads, party, plans.clone(), id, step.clone(), trace).await?;
        lock(&self.partial).insert(id, running);
        // If the step ended meanwhile, only we can remove it.
        if !self.steps.has(id, &step) {
            drop(lock(&self.partial).remove(&id));
        }
        Ok(())
    }

    /// Ends a step and cancels its running parts.
    pub fn end_step(&self, id: u64) {
        self.steps.end(id);
        // Dropping a running partial run cancels it.
        let ended = lock(&self.partial).remove(&id);
        drop(ended);
    }
}

/// A running step; dropping it cancels it.
pub struct Running {
    answer: oneshot::Receiver<Result<StepTimings>>,
    cancel: CancelOnDrop,
}

/// Running partial runs, by step.
pub type PartialRuns = HashMap<u64, Running>;

async fn started(
    threads: &ClientThreads,
    party: &Party,
    plans: Arc<TaskPlans>,
    id: u64,
    rendezvous: Arc<StepRendezvous>,
    trace: bool,
) -> Result<Running> {
    let cancel = CancelOnDrop(Arc::default());
    rendezvous.note_part(&cancel.0);
    let waiting = rendezvous.clone();
    cancel.0.on_cancel(move |e: &Error| waiting.abort(e.clone()));
    let (tx, rx) = oneshot::channel();
    let step = TaskStep { id, rendezvous, cancel: cancel.0.clone(), trace };
    let done = Box::new(move |result| drop(tx.send(result)));
    if plans.starts_within(QUICK) {
        plans.start(step, done);
    } else {
        threads.run(party, move || plans.start(step, done)).await?;
    }
    Ok(Running { answer: rx, cancel })
}

/// Waits for the fetches of a step.
async fn fetched(step: &dyn Rendezvous, keys: &[String]) -> Result<Vec<Tensor>> {
    let waiting: Vec<_> = keys
        .iter()
        .map(|key| {
            let (tx, rx) = oneshot::channel();
            step.recv(key, Box::new(move |parcel| drop(tx.send(parcel))));
            rx
        })
        .collect();
    let mut values = Vec::with_capacity(keys.len());
    for (key, rx) in keys.iter().zip(waiting) {
        let parcel = rx.await.map_err(|_| internal("the step was dropped"))??;
        let dead = || internal(format_args!("the branch that computes '{key}' was not taken"));
        values.push(parcel.value.ok_or_else(dead)?);
    }
    Ok(values)
}
