//! PartialRunSetup, and RunStep for parts of such a run.

use super::Master;
use super::run_step::strs;
use crate::auth::Caller;
use crate::master::sessions::MasterSession;
use crate::threads::awaited_step::{self as steps, MAX_PARTIAL_RUNS};
use crate::wire::tensors::{Contents, feeds, named};
use crate::wire::{config, metadata};
use std::sync::Arc;
use thalweg_core::error::{Result, cancelled, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_proto::{PartialRunSetupRequest, PartialRunSetupResponse, RunStepRequest, RunStepResponse};
use thalweg_runtime::{PartialRun, RunOptions};
use tokio::sync::oneshot;

pub async fn setup(
    master: &Master,
    caller: &Caller,
    request: PartialRunSetupRequest,
) -> Result<PartialRunSetupResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let limit = session.operation_timeout;
    let set_up = move |until: &RunOptions| {
        let (feeds, fetches, targets) = (strs(&request.feed), strs(&request.fetch), strs(&request.target));
        let run = session.session.partial_run_with(&feeds, &fetches, &targets, until)?;
        let mut runs = lock(&session.partial_runs);
        if runs.held.len() >= MAX_PARTIAL_RUNS {
            return Err(resource_exhausted(format_args!(
                "{MAX_PARTIAL_RUNS} partial runs of this session have not ended"
            )));
        }
        let handle = runs.next.to_string();
        runs.next += 1;
        runs.held.insert(handle.clone(), Arc::new(run));
        Ok(PartialRunSetupResponse { partial_run_handle: handle })
    };
    steps::prepare(&master.task.threads, &caller.party, limit, set_up).await
}

pub async fn run_step(
    master: &Master,
    caller: &Caller,
    request: RunStepRequest,
    contents: Contents,
) -> Result<RunStepResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let handle = request.partial_run_handle;
    let run = lock(&session.partial_runs).held.get(&handle).cloned();
    let run = run.ok_or_else(|| invalid!("Must run PartialRunSetup before performing partial runs"))?;
    let options = config::run_options(request.options.as_ref());
    let trace = options.trace;
    let (names, values) = feeds(request.feed, contents)?;
    let (fetch, fed) = (request.fetch, names.into_iter().zip(values).collect());
    let (sender, receiver) = oneshot::channel();
    let asked = (run.clone(), fetch.clone());
    let begin = move || asked.0.step(fed, &asked.1, trace, Box::new(move |r| drop(sender.send(r))));
    let timeout = options.timeout.or(session.operation_timeout);
    let giving_up = PartialRunGuard { run: Some(run.clone()), session: &session, handle: &handle };
    let begun = master.task.threads.run_with_permit(&caller.party, &session.permits, begin);
    let result = match steps::within(timeout, run.cancellation(), async { begun.await? }).await {
        Ok(()) => steps::within(timeout, run.cancellation(), steps::ended(receiver)).await,
        // An invalid call is rejected; the run continues.
        Err(e) if !run.cancellation().is_cancelled() => {
            giving_up.disarm();
            return Err(e);
        }
        Err(e) => Err(e),
    };
    giving_up.disarm();
    if !matches!(result, Ok((_, None))) {
        lock(&session.partial_runs).held.remove(&handle);
    }
    let (values, told) = result?;
    Ok(RunStepResponse {
        tensor: named(fetch, &values)?,
        metadata: told.map(|m| metadata::to_proto(&m, &session.session)),
        ..Default::default()
    })
}

/// Cancels the run if the client disconnects during a call.
struct PartialRunGuard<'a> {
    run: Option<Arc<PartialRun>>,
    session: &'a MasterSession,
    handle: &'a str,
}

impl PartialRunGuard<'_> {
    fn disarm(mut self) {
        self.run = None;
    }
}

impl Drop for PartialRunGuard<'_> {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            run.cancellation().cancel(cancelled("the client has gone"));
            lock(&self.session.partial_runs).held.remove(self.handle);
        }
    }
}
