//! `tensorflow.MasterService`: one file for each call or pair of calls.

mod callable;
mod create;
mod extend;
mod partial_run;
mod recording;
mod registered_graph;
mod reset;
mod run_step;
mod session_cluster;
pub mod sessions;
#[cfg(test)]
mod tests;

pub use registered_graph::node_def;
pub use reset::attributes;
pub use run_step::{feeds, named};

use crate::auth::{Caller, Gate};
use crate::cluster::{Connector, Membership};
use crate::log::Log;
use crate::master::sessions::{Limits, Sessions};
use crate::net::grpc::Contents;
use crate::wire::error::{no_session_any_more, status, step_message};
use crate::worker::Worker;
use crate::worker::recent_requests::RecentRequests;
use crate::worker::task::Task;
use std::sync::Arc;
use thalweg_core::error::{Code, Error, Result};
use thalweg_proto::master_service_server::MasterService;
use thalweg_proto::*;
use tonic::{Request, Response, Status, async_trait};

/// The master of a task. Clones are the same master.
#[derive(Clone)]
pub struct Master {
    pub task: Arc<Task>,
    /// As in TensorFlow every task is a worker too, and its master uses the worker's steps and links.
    pub worker: Arc<Worker>,
    pub sessions: Arc<Sessions>,
    recent: Arc<RecentRequests>,
    /// What all calls have passed.
    pub gate: Arc<Gate>,
    pub log: Log,
}

type Answer<T> = std::result::Result<Response<T>, Status>;

impl Master {
    pub fn new(
        task: Task,
        connector: Connector,
        home: Membership,
        limits: Limits,
        gate: Arc<Gate>,
        log: Log,
    ) -> Master {
        let (task, sessions) = (Arc::new(task), Arc::new(Sessions::new(limits)));
        let worker = Arc::new(Worker::new(task.clone(), connector, home, log));
        Master { task, worker, sessions, recent: Arc::default(), gate, log }
    }

    fn answer<T>(&self, call: &str, handle: &str, result: Result<T>) -> Answer<T> {
        match result {
            Ok(response) => {
                self.log.debug(call, &[("session", &handle)]);
                Ok(Response::new(response))
            }
            Err(e) => {
                self.log_error(call, handle, &e);
                Err(status(&self.name_in(handle), &e))
            }
        }
    }

    /// What this task is called in a session.
    fn name_in(&self, handle: &str) -> String {
        self.sessions.task_of(handle).unwrap_or_else(|| self.task.name.clone())
    }

    fn log_error(&self, call: &str, handle: &str, e: &Error) {
        self.log
            .debug(call, &[("session", &handle), ("code", &e.code().name()), ("error", &e.wire_message())]);
    }
}

/// Who makes a call.
fn caller<T>(request: &Request<T>) -> Caller {
    request.extensions().get().cloned().unwrap_or_default()
}

#[async_trait]
impl MasterService for Master {
    async fn create_session(&self, r: Request<CreateSessionRequest>) -> Answer<CreateSessionResponse> {
        let result = create::create_session(self, caller(&r), r.into_inner()).await;
        let handle = result.as_ref().map_or(String::new(), |r| r.session_handle.clone());
        self.answer("CreateSession", &handle, result)
    }

    async fn extend_session(&self, r: Request<ExtendSessionRequest>) -> Answer<ExtendSessionResponse> {
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        self.answer("ExtendSession", &handle, extend::extend_session(self, &caller, r).await)
    }

    async fn partial_run_setup(&self, r: Request<PartialRunSetupRequest>) -> Answer<PartialRunSetupResponse> {
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        let result = match self.recent.note(r.request_id, "PartialRunSetup (Master)") {
            Err(e) => Err(e),
            Ok(()) => partial_run::setup(self, &caller, r).await,
        };
        self.answer("PartialRunSetup", &handle, result)
    }

    async fn run_step(&self, r: Request<RunStepRequest>) -> Answer<RunStepResponse> {
        let contents = r.extensions().get::<Contents>().cloned().unwrap_or_default();
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        let errors_in_body = r.store_errors_in_response_body;
        let result = match self.recent.note(r.request_id, "RunStep (Master)") {
            Err(e) => Err(e),
            Ok(()) if r.partial_run_handle.is_empty() => run_step::run_step(self, &caller, r, contents).await,
            Ok(()) => partial_run::run_step(self, &caller, r, contents).await,
        };
        match result {
            Err(e) if errors_in_body => {
                self.log_error("RunStep", &handle, &e);
                Ok(Response::new(RunStepResponse {
                    status_code: e.code() as i32,
                    status_error_message: step_message(&self.name_in(&handle), &e),
                    ..Default::default()
                }))
            }
            other => self.answer("RunStep", &handle, other),
        }
    }

    async fn close_session(&self, r: Request<CloseSessionRequest>) -> Answer<CloseSessionResponse> {
        let (caller, handle) = (caller(&r), r.into_inner().session_handle);
        // Here and at once: the client's next session must not meet what this one waits for.
        let result = match self.sessions.close(&handle, &caller) {
            Ok(true) => Ok(CloseSessionResponse {}),
            Ok(false) => Err(no_session_any_more(Code::Aborted, &handle)),
            Err(e) => Err(e),
        };
        self.log.info("session_closed", &[("session", &handle), ("open", &self.sessions.len())]);
        self.answer("CloseSession", &handle, result)
    }

    async fn list_devices(&self, r: Request<ListDevicesRequest>) -> Answer<ListDevicesResponse> {
        let (caller, handle) = (caller(&r), r.into_inner().session_handle);
        self.answer("ListDevices", &handle, reset::list_devices(self, &caller, &handle))
    }

    async fn reset(&self, r: Request<ResetRequest>) -> Answer<ResetResponse> {
        let result = reset::reset(self, r.into_inner()).await;
        self.answer("Reset", "", result)
    }

    async fn make_callable(&self, r: Request<MakeCallableRequest>) -> Answer<MakeCallableResponse> {
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        self.answer("MakeCallable", &handle, callable::make(self, &caller, r).await)
    }

    async fn run_callable(&self, r: Request<RunCallableRequest>) -> Answer<RunCallableResponse> {
        let contents = r.extensions().get::<Contents>().cloned().unwrap_or_default();
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        self.answer("RunCallable", &handle, callable::run(self, &caller, r, contents).await)
    }

    async fn release_callable(&self, r: Request<ReleaseCallableRequest>) -> Answer<ReleaseCallableResponse> {
        let (caller, handle, r) = (caller(&r), r.get_ref().session_handle.clone(), r.into_inner());
        self.answer("ReleaseCallable", &handle, callable::release(self, &caller, &r))
    }
}
