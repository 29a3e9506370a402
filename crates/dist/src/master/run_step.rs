//! RunStep, for whole steps.

use super::Master;
use super::recording::Recording;
use crate::auth::Caller;
use crate::master::sessions::MasterSession;
use crate::threads::awaited_step as steps;
use crate::wire::cost_graph::cost_graph;
use crate::wire::error::of_step;
use crate::wire::tensors::{Contents, feeds, named};
use crate::wire::{config, metadata};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_proto::{RunMetadata, RunStepRequest, RunStepResponse};
use thalweg_runtime::{Callable, RunOptions};

pub async fn run_step(
    master: &Master,
    caller: &Caller,
    request: RunStepRequest,
    contents: Contents,
) -> Result<RunStepResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let mut options = config::run_options(request.options.as_ref());
    options.timeout = options.timeout.or(session.operation_timeout).map(in_time);
    options.serial = master.sessions.is_shared(&session);
    let (names, feeds) = feeds(request.feed, contents)?;
    let fetch = request.fetch;
    let measured = session.cost_model.counts(&names, &fetch, &request.target);
    let traced = options.trace;
    options.trace |= measured;
    let callable = match compiled(&session, &names, &fetch, &request.target) {
        Some(callable) => callable,
        None => {
            let began = Instant::now();
            let callable =
                compile(master, caller, &session, names, fetch.clone(), request.target, options.timeout)
                    .await?;
            options = options.after(began.elapsed());
            callable
        }
    };
    let graphs = match request.options {
        Some(o) if o.output_partition_graphs => {
            let callable = callable.clone();
            let graphs = move || metadata::partition_graphs(&callable);
            master.task.threads.prepare(&caller.party, graphs).await?
        }
        _ => Vec::new(),
    };
    let (values, mut metadata) =
        run(master, caller, &session, callable, feeds, options).await.map_err(|e| of_step(e, &fetch))?;
    metadata.partition_graphs = graphs;
    if measured {
        let stats = metadata.step_stats.take().unwrap_or_default();
        metadata.cost_graph = Some(session.session.with_graph(|graph| cost_graph(&stats, graph)));
        metadata.step_stats = traced.then_some(stats);
    }
    Ok(RunStepResponse { tensor: named(fetch, &values)?, metadata: Some(metadata), ..Default::default() })
}

/// Runs a step; RunMetadata as its options ask for.
pub async fn run(
    master: &Master,
    caller: &Caller,
    session: &MasterSession,
    callable: Callable,
    feeds: Vec<Tensor>,
    options: RunOptions,
) -> Result<(Vec<Tensor>, RunMetadata)> {
    let recording = match &session.cluster {
        Some(cluster) if options.trace && !callable.tasks().is_empty() => {
            Some(Recording::begin(cluster, callable.tasks()).await)
        }
        _ => None,
    };
    let threads = &master.task.threads;
    let step = steps::run(threads, &session.permits, &caller.party, callable, feeds, options);
    let (values, told) = step.await?;
    let mut metadata = metadata::to_proto(&told, &session.session);
    if let Some(recording) = recording {
        let transfers = recording.of_step(told.step).await;
        metadata.step_stats.get_or_insert_default().dev_stats.extend(transfers);
    }
    Ok((values, metadata))
}

/// The deadline of a step, a little before its client's timeout: the response, which says what it waited for, takes time too.
fn in_time(limit: Duration) -> Duration {
    limit - (limit / 10).min(Duration::from_millis(50))
}

fn compiled(
    session: &MasterSession,
    feeds: &[String],
    fetches: &[String],
    targets: &[String],
) -> Option<Callable> {
    session.session.compiled_callable(&strs(feeds), &strs(fetches), &strs(targets))
}

async fn compile(
    master: &Master,
    caller: &Caller,
    session: &Arc<MasterSession>,
    feeds: Vec<String>,
    fetches: Vec<String>,
    targets: Vec<String>,
    limit: Option<Duration>,
) -> Result<Callable> {
    let session = session.clone();
    let compile = move |options: &RunOptions| {
        let (feeds, fetches, targets) = (strs(&feeds), strs(&fetches), strs(&targets));
        session.session.callable_by_name_with(&feeds, &fetches, &targets, options)
    };
    steps::prepare(&master.task.threads, &caller.party, limit, compile).await
}

pub fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_a_little_before_its_client_gives_it_up() {
        for (limit, time) in [(10, 9), (100, 90), (500, 450), (1000, 950), (60_000, 59_950)] {
            assert_eq!(in_time(Duration::from_millis(limit)), Duration::from_millis(time));
        }
    }
}
