//! The methods of `MasterService` and `WorkerService`: one table with the path of each request's large contents, its role
//! and its handler.

use super::{master_service as master, worker_service as worker};
use crate::auth::{Gate, Role};
use crate::master::Master;
use crate::net::grpc::content_scanner::{ContentPath, NO_CONTENT, RUN_CALLABLE, RUN_GRAPH, RUN_STEP};
use crate::net::grpc::{Answer, Reply, within};
use crate::net::server::service::{Answering, Call, Route, Service};
use crate::wire::Status;
use crate::wire::tensors::Contents;
use bytes::Bytes;
use std::sync::Arc;
use thalweg_core::error::{Code, Error, Result};
use thalweg_proto::{Message, Name, RunGraphResponse, RunStepResponse};

/// Both services of a task.
pub struct Services {
    pub master: Master,
    gate: Arc<Gate>,
}

struct Method {
    path: &'static str,
    /// The path of its requests' large contents.
    contents: ContentPath,
    role: Role,
    handler: fn(Arc<Services>, Call) -> Answering,
}

const MASTER: &str = "/tensorflow.MasterService/";
const WORKER: &str = "/tensorflow.WorkerService/";

const fn method(
    path: &'static str,
    contents: ContentPath,
    role: Role,
    handler: fn(Arc<Services>, Call) -> Answering,
) -> Method {
    Method { path, contents, role, handler }
}

use Role::{Admin, Cluster, Run};

static METHODS: [Method; 20] = [
    method("/tensorflow.MasterService/CloseSession", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::close_session)
    }),
    method("/tensorflow.MasterService/CreateSession", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::create_session)
    }),
    method("/tensorflow.MasterService/ExtendSession", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::extend_session)
    }),
    method("/tensorflow.MasterService/ListDevices", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::list_devices)
    }),
    method("/tensorflow.MasterService/MakeCallable", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::make_callable)
    }),
    method("/tensorflow.MasterService/PartialRunSetup", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::partial_run_setup)
    }),
    method("/tensorflow.MasterService/ReleaseCallable", NO_CONTENT, Run, |s, c| {
        s.in_time(c, master::release_callable)
    }),
    method("/tensorflow.MasterService/Reset", NO_CONTENT, Admin, |s, c| s.in_time(c, master::reset)),
    method("/tensorflow.MasterService/RunCallable", RUN_CALLABLE, Run, |s, c| {
        s.in_time(c, master::run_callable)
    }),
    method("/tensorflow.MasterService/RunStep", RUN_STEP, Run, |s, c| s.in_time(c, master::run_step)),
    method("/tensorflow.WorkerService/CleanupAll", NO_CONTENT, Admin, |s, c| {
        s.answered(c, worker::cleanup_all)
    }),
    method("/tensorflow.WorkerService/CleanupGraph", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::cleanup_graph)
    }),
    method("/tensorflow.WorkerService/CreateWorkerSession", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::create_worker_session)
    }),
    method("/tensorflow.WorkerService/DeleteWorkerSession", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::delete_worker_session)
    }),
    method("/tensorflow.WorkerService/DeregisterGraph", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::deregister_graph)
    }),
    method("/tensorflow.WorkerService/GetStatus", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::get_status)
    }),
    method("/tensorflow.WorkerService/Logging", NO_CONTENT, Cluster, |s, c| s.answered(c, worker::logging)),
    method("/tensorflow.WorkerService/RecvTensor", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::recv_tensor)
    }),
    method("/tensorflow.WorkerService/RegisterGraph", NO_CONTENT, Cluster, |s, c| {
        s.answered(c, worker::register_graph)
    }),
    method("/tensorflow.WorkerService/RunGraph", RUN_GRAPH, Cluster, |s, c| s.answered(c, worker::run_graph)),
];

/// Prefix kept of an unknown method's path, for the error.
const MAX_UNKNOWN: usize = 120;

fn find(path: &[u8]) -> Option<&'static Method> {
    METHODS.iter().find(|m| m.path.as_bytes() == path)
}

impl Service for Services {
    fn route(&self, path: &[u8]) -> Route {
        if let Some(m) = find(path) {
            return Route { path: Bytes::from_static(m.path.as_bytes()), contents: m.contents, role: m.role };
        }
        let role = if path.starts_with(WORKER.as_bytes()) { Role::Cluster } else { Role::Run };
        let path = Bytes::copy_from_slice(path.get(..MAX_UNKNOWN).unwrap_or(path));
        Route { path, contents: NO_CONTENT, role }
    }

    fn call(self: Arc<Self>, call: Call) -> Answering {
        match find(&call.path) {
            Some(method) => (method.handler)(self, call),
            None => self.answered(call, unimplemented),
        }
    }
}

async fn unimplemented(_: Arc<Services>, call: Call) -> Answer {
    let path = String::from_utf8(call.path.to_vec()).unwrap_or_default();
    let why = match path.starts_with(MASTER) || path.starts_with(WORKER) {
        true => format!("{path} does not exist"),
        false => format!("there is no service at {path}"),
    };
    Err(Status::new(Code::Unimplemented, why))
}

impl Services {
    pub fn new(master: Master, gate: Arc<Gate>) -> Services {
        Services { master, gate }
    }

    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Runs a call within its client's deadline.
    fn in_time<F: Future<Output = Answer> + Send + 'static>(
        self: Arc<Self>,
        call: Call,
        handler: fn(Arc<Services>, Call) -> F,
    ) -> Answering {
        let (services, timeout, audit) = (self.clone(), call.timeout, Audit::new(&call));
        Box::pin(async move {
            let answer = within(timeout, handler(self, call)).await;
            audit.note(&services.gate, &answer);
            answer
        })
    }

    /// Runs a call of another task: no deadline, its task cancels it.
    fn answered<F: Future<Output = Answer> + Send + 'static>(
        self: Arc<Self>,
        call: Call,
        handler: fn(Arc<Services>, Call) -> F,
    ) -> Answering {
        let (services, audit) = (self.clone(), Audit::new(&call));
        Box::pin(async move {
            let answer = handler(self, call).await;
            audit.note(&services.gate, &answer);
            answer
        })
    }

    /// The response to a step. Its error is in the body if the request says so (`in_body`), with the text of
    /// `message`; else it is the `status`.
    pub fn step_answer<R: StepResponse>(
        &self,
        call: &Call,
        in_body: bool,
        result: Result<R>,
        message: impl FnOnce(&Error) -> String,
        status: impl FnOnce(&Error) -> Status,
    ) -> Answer {
        let response = match result {
            Ok(response) => response,
            Err(e) if in_body => {
                let text = message(&e);
                if e.code() == Code::PermissionDenied {
                    let refused = Status::new(e.code(), text.clone());
                    self.gate.refusals.note(&call.origin, &call.caller.identity, R::METHOD, &refused);
                }
                R::failed(e.code(), text)
            }
            Err(e) => return Err(status(&e)),
        };
        match response.reply(call.max_answer) {
            Err(e) if in_body && R::TOO_LARGE_IN_BODY => {
                R::failed(e.code(), e.message().into()).reply(call.max_answer)
            }
            reply => reply,
        }
    }
}

/// Audit: calls that fail with PERMISSION_DENIED are logged.
struct Audit {
    origin: crate::auth::Origin,
    identity: Arc<str>,
    path: Bytes,
}

impl Audit {
    fn new(call: &Call) -> Audit {
        let (origin, identity) = (call.origin.clone(), call.caller.identity.clone());
        Audit { origin, identity, path: call.path.clone() }
    }

    fn note(&self, gate: &Gate, answer: &Answer) {
        if let Err(status) = answer
            && status.code() == Code::PermissionDenied
        {
            gate.refusals.note(&self.origin, &self.identity, &self.path, status);
        }
    }
}

/// The decoded request, with its large contents apart.
pub fn read<M: Message + Name + Default>(call: &mut Call) -> std::result::Result<(M, Contents), Status> {
    std::mem::take(&mut call.message).decode().map_err(|e| Status::from(&e))
}

/// The decoded request, without large contents.
pub fn message<M: Message + Name + Default>(call: &mut Call) -> std::result::Result<M, Status> {
    Ok(read(call)?.0)
}

/// The response to a step: tensors are not copied, and errors may be in the body.
pub trait StepResponse {
    /// Its name in the audit log.
    const METHOD: &[u8];
    /// Whether a response that is too large becomes an error in the body too.
    const TOO_LARGE_IN_BODY: bool;

    fn failed(code: Code, message: String) -> Self;
    fn reply(self, limit: usize) -> Answer;
}

impl StepResponse for RunStepResponse {
    const METHOD: &[u8] = b"RunStep";
    const TOO_LARGE_IN_BODY: bool = true;

    fn failed(code: Code, message: String) -> RunStepResponse {
        RunStepResponse { status_code: code as i32, status_error_message: message, ..Default::default() }
    }

    fn reply(self, limit: usize) -> Answer {
        Reply::of_step(self, limit)
    }
}

impl StepResponse for RunGraphResponse {
    const METHOD: &[u8] = b"RunGraph";
    const TOO_LARGE_IN_BODY: bool = false;

    fn failed(code: Code, message: String) -> RunGraphResponse {
        RunGraphResponse { status_code: code as i32, status_error_message: message, ..Default::default() }
    }

    fn reply(self, limit: usize) -> Answer {
        Reply::of_graph(self, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services() -> Arc<Services> {
        crate::testing::services()
    }

    #[test]
    fn large_contents_are_looked_for_where_requests_have_them() {
        let services = services();
        for (path, want) in [
            ("/tensorflow.MasterService/RunStep", RUN_STEP),
            ("/tensorflow.MasterService/RunCallable", RUN_CALLABLE),
            ("/tensorflow.WorkerService/RunGraph", RUN_GRAPH),
            ("/tensorflow.MasterService/CreateSession", NO_CONTENT),
            ("/other.Service/RunStep", NO_CONTENT),
            ("RunStep", NO_CONTENT),
        ] {
            assert_eq!(services.route(path.as_bytes()).contents, want, "{path}");
        }
    }

    #[test]
    fn paths_of_methods_are_static_and_of_others_a_beginning_is_kept() {
        let services = services();
        let route = |path: &[u8]| services.route(path).path;
        for m in &METHODS {
            let kept = route(m.path.to_string().as_bytes());
            assert!(std::ptr::eq(kept.as_ptr(), m.path.as_ptr()), "{}", m.path);
        }
        assert_eq!(route(b"/some.Service/Thing"), "/some.Service/Thing");
        assert_eq!(route(&[b'x'; 120]), vec![b'x'; 120]);
        assert_eq!(route(&[b'x'; 10_000]), vec![b'x'; 120]);
    }

    #[test]
    fn each_method_needs_its_role() {
        let services = services();
        for (path, role) in [
            ("/tensorflow.MasterService/RunStep", Role::Run),
            ("/tensorflow.MasterService/Reset", Role::Admin),
            ("/tensorflow.MasterService/Nonsense", Role::Run),
            ("/tensorflow.WorkerService/RunGraph", Role::Cluster),
            ("/tensorflow.WorkerService/CleanupAll", Role::Admin),
            ("/tensorflow.WorkerService/Nonsense", Role::Cluster),
            ("", Role::Run),
        ] {
            assert_eq!(services.route(path.as_bytes()).role, role, "{path}");
        }
        for m in &METHODS {
            let least = if m.path.starts_with(WORKER) { Role::Cluster } else { Role::Run };
            assert!(m.path.starts_with(WORKER) || m.path.starts_with(MASTER));
            assert!(m.role >= least, "{}", m.path);
        }
    }
}
