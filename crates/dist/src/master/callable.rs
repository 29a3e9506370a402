//! MakeCallable, RunCallable, ReleaseCallable.

use super::run_step::strs;
use super::{Master, run_step};
use crate::auth::Caller;
use crate::master::sessions::MAX_CALLABLES;
use crate::threads::awaited_step as steps;
use crate::threads::client_threads::drop_in_background;
use crate::wire::config;
use crate::wire::tensors::Contents;
use std::sync::Arc;
use thalweg_core::error::{Result, resource_exhausted, unimplemented};
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::{
    MakeCallableRequest, MakeCallableResponse, ReleaseCallableRequest, ReleaseCallableResponse,
    RunCallableRequest, RunCallableResponse,
};
use thalweg_runtime::RunOptions;

pub async fn make(
    master: &Master,
    caller: &Caller,
    request: MakeCallableRequest,
) -> Result<MakeCallableResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let options = request.options.unwrap_or_default();
    if !options.tensor_connection.is_empty() {
        return Err(unimplemented("callables with tensor connections are not supported"));
    }
    let mut run_options = config::run_options(options.run_options.as_ref());
    run_options.timeout = run_options.timeout.or(session.operation_timeout);
    let limit = run_options.timeout;
    let make = move |until: &RunOptions| {
        let (feeds, fetches, targets) = (strs(&options.feed), strs(&options.fetch), strs(&options.target));
        let callable = session.session.callable_by_name_with(&feeds, &fetches, &targets, until)?;
        let mut callables = lock(&session.callables);
        if callables.held.len() >= MAX_CALLABLES {
            return Err(resource_exhausted(format_args!(
                "this session has {MAX_CALLABLES} callables: release some"
            )));
        }
        let handle = callables.next;
        callables.next += 1;
        callables.held.insert(handle, Arc::new((callable, run_options)));
        Ok(MakeCallableResponse { handle })
    };
    steps::prepare(&master.task.threads, &caller.party, limit, make).await
}

pub async fn run(
    master: &Master,
    caller: &Caller,
    request: RunCallableRequest,
    contents: Contents,
) -> Result<RunCallableResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let (made, next) = {
        let callables = lock(&session.callables);
        (callables.held.get(&request.handle).cloned(), callables.next)
    };
    let made = made.ok_or_else(|| match request.handle {
        h if h >= next || h < 0 => invalid!("No such callable handle: {h}"),
        h => invalid!("Attempted to run callable after handle was released: {h}"),
    })?;
    let feeds = request.feed.iter().map(|f| contents.tensor(f)).collect::<Result<Vec<_>>>()?;
    // Feeds held by the step alone can be reused in place.
    drop((request, contents));
    let options = RunOptions { serial: master.sessions.is_shared(&session), ..made.1.clone() };
    let (values, metadata) = run_step::run(master, caller, &session, made.0.clone(), feeds, options).await?;
    Ok(RunCallableResponse {
        fetch: values.iter().map(tensor_to_proto).collect::<Result<_>>()?,
        metadata: Some(metadata),
    })
}

pub fn release(
    master: &Master,
    caller: &Caller,
    request: &ReleaseCallableRequest,
) -> Result<ReleaseCallableResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let released = lock(&session.callables).held.remove(&request.handle);
    drop_in_background(released);
    Ok(ReleaseCallableResponse {})
}
