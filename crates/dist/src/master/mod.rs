//! `tensorflow.MasterService`: one file for each call or pair of calls.

mod callable;
mod cost_model;
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

use crate::auth::Caller;
use crate::cluster::{Connector, Membership};
use crate::log::{Log, Part};
use crate::wire::Status;
use crate::wire::error::{no_session_any_more, status, step_message};
use crate::wire::tensors::Contents;
use crate::worker::Worker;
use crate::worker::recent_requests::RecentRequests;
use crate::worker::task::Task;
use sessions::{Limits, Sessions};
use std::sync::Arc;
use thalweg_core::error::{Code, Error, Result};
use thalweg_proto::{
    CloseSessionRequest, CloseSessionResponse, CreateSessionRequest, CreateSessionResponse,
    ExtendSessionRequest, ExtendSessionResponse, ListDevicesRequest, ListDevicesResponse,
    MakeCallableRequest, MakeCallableResponse, PartialRunSetupRequest, PartialRunSetupResponse,
    ReleaseCallableRequest, ReleaseCallableResponse, ResetRequest, ResetResponse, RunCallableRequest,
    RunCallableResponse, RunStepRequest, RunStepResponse,
};

/// The master of a task.
pub struct Master {
    pub task: Arc<Task>,
    /// As in TensorFlow every task is a worker too, and its master uses the worker's steps and links.
    pub worker: Arc<Worker>,
    pub sessions: Arc<Sessions>,
    recent: RecentRequests,
    pub log: Log,
}

impl Master {
    pub fn new(task: Task, connector: Connector, home: Membership, limits: Limits, log: Log) -> Master {
        let (task, sessions) = (Arc::new(task), Arc::new(Sessions::new(limits)));
        let worker = Arc::new(Worker::new(task.clone(), connector, home, log.of(Part::Worker)));
        Master { task, worker, sessions, recent: RecentRequests::default(), log: log.of(Part::Master) }
    }

    /// Logs how a call on a session ended.
    fn logged<T>(&self, call: &str, handle: &str, result: Result<T>) -> Result<T> {
        match &result {
            Ok(_) => self.log.debug(call, &[("session", &handle)]),
            Err(e) => {
                let (code, error) = (e.code().name(), e.wire_message());
                self.log.debug(call, &[("session", &handle), ("code", &code), ("error", &error)]);
            }
        }
        result
    }

    /// The name of this task in a session.
    fn name_in(&self, handle: &str) -> String {
        self.sessions.task_of(handle).unwrap_or_else(|| self.task.name.clone())
    }

    /// An error of a call on this session as the call's status.
    pub fn status(&self, handle: &str, e: &Error) -> Status {
        status(&self.name_in(handle), e)
    }

    /// The text of the same, for the response body.
    pub fn message(&self, handle: &str, e: &Error) -> String {
        step_message(&self.name_in(handle), e)
    }

    pub async fn create_session(
        &self,
        caller: Caller,
        r: CreateSessionRequest,
    ) -> Result<CreateSessionResponse> {
        let result = create::create_session(self, caller, r).await;
        let handle = result.as_ref().map_or(String::new(), |r| r.session_handle.clone());
        self.logged("CreateSession", &handle, result)
    }

    pub async fn extend_session(
        &self,
        caller: &Caller,
        r: ExtendSessionRequest,
    ) -> Result<ExtendSessionResponse> {
        let handle = r.session_handle.clone();
        self.logged("ExtendSession", &handle, extend::extend_session(self, caller, r).await)
    }

    pub async fn partial_run_setup(
        &self,
        caller: &Caller,
        r: PartialRunSetupRequest,
    ) -> Result<PartialRunSetupResponse> {
        let handle = r.session_handle.clone();
        let result = match self.recent.note(r.request_id, "PartialRunSetup (Master)") {
            Err(e) => Err(e),
            Ok(()) => partial_run::setup(self, caller, r).await,
        };
        self.logged("PartialRunSetup", &handle, result)
    }

    pub async fn run_step(
        &self,
        caller: &Caller,
        r: RunStepRequest,
        contents: Contents,
    ) -> Result<RunStepResponse> {
        let handle = r.session_handle.clone();
        let result = match self.recent.note(r.request_id, "RunStep (Master)") {
            Err(e) => Err(e),
            Ok(()) if r.partial_run_handle.is_empty() => run_step::run_step(self, caller, r, contents).await,
            Ok(()) => partial_run::run_step(self, caller, r, contents).await,
        };
        self.logged("RunStep", &handle, result)
    }

    pub fn close_session(&self, caller: &Caller, r: &CloseSessionRequest) -> Result<CloseSessionResponse> {
        let handle = &r.session_handle;
        // Synchronous: the client's next session must not compete with this one's steps.
        let result = match self.sessions.close(handle, caller) {
            Ok(true) => Ok(CloseSessionResponse {}),
            Ok(false) => Err(no_session_any_more(Code::Aborted, handle)),
            Err(e) => Err(e),
        };
        self.log.info("session_closed", &[("session", handle), ("open", &self.sessions.len())]);
        self.logged("CloseSession", handle, result)
    }

    pub fn list_devices(&self, caller: &Caller, r: &ListDevicesRequest) -> Result<ListDevicesResponse> {
        let handle = &r.session_handle;
        self.logged("ListDevices", handle, reset::list_devices(self, caller, handle))
    }

    pub async fn reset(&self, r: ResetRequest) -> Result<ResetResponse> {
        let result = reset::reset(self, r).await;
        self.logged("Reset", "", result)
    }

    pub async fn make_callable(
        &self,
        caller: &Caller,
        r: MakeCallableRequest,
    ) -> Result<MakeCallableResponse> {
        let handle = r.session_handle.clone();
        self.logged("MakeCallable", &handle, callable::make(self, caller, r).await)
    }

    pub async fn run_callable(
        &self,
        caller: &Caller,
        r: RunCallableRequest,
        contents: Contents,
    ) -> Result<RunCallableResponse> {
        let handle = r.session_handle.clone();
        self.logged("RunCallable", &handle, callable::run(self, caller, r, contents).await)
    }

    pub fn release_callable(
        &self,
        caller: &Caller,
        r: &ReleaseCallableRequest,
    ) -> Result<ReleaseCallableResponse> {
        self.logged("ReleaseCallable", &r.session_handle, callable::release(self, caller, r))
    }
}
