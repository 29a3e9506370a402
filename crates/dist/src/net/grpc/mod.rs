//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

pub mod content_scanner;
mod deadline;
mod message_reader;
mod partial_message;
mod percent_encoding;
mod received_message;
mod response;

pub use deadline::timeout;
pub use message_reader::{Collecting, Refusal};
pub use percent_encoding::{percent_coded, percent_decoded};
pub use received_message::{Arrived, Contents};

use crate::auth::Caller;
use crate::net::http2::Head;
use crate::net::server::peer::Peer;
use crate::wire::error::peer_status;
use crate::worker::{Worker, sender};
use bytes::Bytes;
use content_scanner::{NOWHERE, Path, RUN_CALLABLE, RUN_GRAPH, RUN_STEP};
use response::Reply;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::Code;
use thalweg_proto::master_service_server::MasterService;
use thalweg_proto::{Message, Name, RecvTensorRequest, RunGraphRequest, RunStepRequest, RunStepResponse};
use tonic::{Request, Status};

const SERVICE: &str = "/tensorflow.MasterService/";
const WORKER_SERVICE: &str = "/tensorflow.WorkerService/";

/// How a call ends.
pub type Answer = Result<Reply, Status>;

/// Where the large contents of requests to this method lie.
pub fn contents_of(path: &[u8]) -> Path {
    match path.strip_prefix(SERVICE.as_bytes()).or_else(|| path.strip_prefix(WORKER_SERVICE.as_bytes())) {
        Some(b"RunStep") => RUN_STEP,
        Some(b"RunCallable") => RUN_CALLABLE,
        Some(b"RunGraph") => RUN_GRAPH,
        _ => NOWHERE,
    }
}

/// The methods of the services here, so that the path of a call is known without being kept.
const METHODS: [&str; 20] = [
    "/tensorflow.MasterService/CloseSession",
    "/tensorflow.MasterService/CreateSession",
    "/tensorflow.MasterService/ExtendSession",
    "/tensorflow.MasterService/ListDevices",
    "/tensorflow.MasterService/MakeCallable",
    "/tensorflow.MasterService/PartialRunSetup",
    "/tensorflow.MasterService/ReleaseCallable",
    "/tensorflow.MasterService/Reset",
    "/tensorflow.MasterService/RunCallable",
    "/tensorflow.MasterService/RunStep",
    "/tensorflow.WorkerService/CleanupAll",
    "/tensorflow.WorkerService/CleanupGraph",
    "/tensorflow.WorkerService/CreateWorkerSession",
    "/tensorflow.WorkerService/DeleteWorkerSession",
    "/tensorflow.WorkerService/DeregisterGraph",
    "/tensorflow.WorkerService/GetStatus",
    "/tensorflow.WorkerService/Logging",
    "/tensorflow.WorkerService/RecvTensor",
    "/tensorflow.WorkerService/RegisterGraph",
    "/tensorflow.WorkerService/RunGraph",
];

/// How much of a path that leads nowhere is kept, to be told.
const TOLD: usize = 120;

/// The path of a call: a peer may send thousands of long ones, of which none is held.
pub fn known_path(path: Bytes) -> Bytes {
    match METHODS.iter().find(|known| known.as_bytes() == path) {
        Some(known) => Bytes::from_static(known.as_bytes()),
        None => Bytes::copy_from_slice(&path[..path.len().min(TOLD)]),
    }
}

/// The HTTP status for what is no gRPC call, as gRPC over HTTP/2 asks for.
pub fn http_refusal(head: &Head) -> Option<&'static str> {
    if head.method.as_deref() != Some(b"POST") {
        return Some("405");
    }
    match &head.content_type {
        Some(kind) if kind.starts_with(b"application/grpc") => None,
        _ => Some("415"),
    }
}

/// Answers one call.
pub async fn answer(
    peer: Arc<Peer>,
    caller: Caller,
    path: Bytes,
    timeout: Option<Duration>,
    message: Arrived,
) -> Answer {
    let path = std::str::from_utf8(&path).unwrap_or_default();
    let answer = match (path.strip_prefix(SERVICE), path.strip_prefix(WORKER_SERVICE)) {
        (Some(method), _) => deadline::within(timeout, call(&peer, &caller, method, message)).await,
        (_, Some(method)) => worker_call(&peer, &caller, method, message).await,
        _ => Err(Status::unimplemented(format!("there is no service at {path}"))),
    };
    if let Err(status) = &answer {
        note_refusal(&peer, &caller, path, status);
    }
    answer
}

/// Whatever a caller may not do, a session of another or a file, comes by here.
fn note_refusal(peer: &Peer, caller: &Caller, path: &str, status: &Status) {
    if status.code() == tonic::Code::PermissionDenied {
        peer.master.gate.refusals.note(&peer.origin, &caller.identity, path.as_bytes(), status);
    }
}

/// As `note_refusal`, for steps whose errors are a part of the answer.
fn note_in_body(peer: &Peer, caller: &Caller, method: &str, code: i32, message: &str) {
    if code == Code::PermissionDenied as i32 {
        note_refusal(peer, caller, method, &Status::permission_denied(message));
    }
}

async fn call(peer: &Peer, caller: &Caller, method: &str, message: Arrived) -> Result<Reply, Status> {
    let m = &peer.master;
    match method {
        "RunStep" => run_step(peer, caller, message).await,
        "RunCallable" => Reply::of(m.run_callable(of(caller, message)?).await?, peer),
        "CreateSession" => Reply::of(m.create_session(of(caller, message)?).await?, peer),
        "ExtendSession" => Reply::of(m.extend_session(of(caller, message)?).await?, peer),
        "PartialRunSetup" => Reply::of(m.partial_run_setup(of(caller, message)?).await?, peer),
        "CloseSession" => Reply::of(m.close_session(of(caller, message)?).await?, peer),
        "ListDevices" => Reply::of(m.list_devices(of(caller, message)?).await?, peer),
        "Reset" => Reply::of(m.reset(of(caller, message)?).await?, peer),
        "MakeCallable" => Reply::of(m.make_callable(of(caller, message)?).await?, peer),
        "ReleaseCallable" => Reply::of(m.release_callable(of(caller, message)?).await?, peer),
        _ => Err(Status::unimplemented(format!("{SERVICE}{method} does not exist"))),
    }
}

async fn worker_call(peer: &Peer, caller: &Caller, method: &str, message: Arrived) -> Result<Reply, Status> {
    let w: &Arc<Worker> = &peer.master.worker;
    let failed = |e| peer_status(&w.task.name, &e);
    match method {
        "RecvTensor" => {
            let request: RecvTensorRequest = take(message)?;
            // Who asks knows us by the name in the key, which may be that of a session's own cluster.
            let us = sender(&request.rendezvous_key).unwrap_or(&w.task.name).to_string();
            let answer = w.recv_tensor(request).await;
            Reply::of_tensor(answer.map_err(|e| peer_status(&us, &e))?, peer)
        }
        "RunGraph" => {
            let request: Request<RunGraphRequest> = read(message)?;
            let (_, mut extensions, request) = request.into_parts();
            let answer = {
                let contents = extensions.remove().unwrap_or_default();
                w.run_graph(request, contents, &peer.line, &caller.party).await
            };
            let answer = answer.map_err(failed)?;
            note_in_body(peer, caller, "RunGraph", answer.status_code, &answer.status_error_message);
            Reply::of_graph(answer, peer)
        }
        "CleanupGraph" => whole(Ok(w.cleanup_graph(&take(message)?)), peer),
        "RegisterGraph" => whole(w.register_graph(take(message)?, &peer.line, &caller.party).await, peer),
        "DeregisterGraph" => whole(w.deregister_graph(&take(message)?), peer),
        "GetStatus" => whole(Ok(w.get_status()), peer),
        "CreateWorkerSession" => whole(w.create_worker_session(take(message)?, &peer.line), peer),
        "DeleteWorkerSession" => whole(Ok(w.delete_worker_session(&take(message)?)), peer),
        "CleanupAll" => whole(w.cleanup_all(take(message)?).await, peer),
        "Logging" => whole(Ok(w.logging(&take(message)?)), peer),
        _ => Err(Status::unimplemented(format!("{WORKER_SERVICE}{method} does not exist"))),
    }
}

/// An answer to another task, written in one piece.
fn whole<M: Message>(answer: thalweg_core::error::Result<M>, peer: &Peer) -> Result<Reply, Status> {
    let answer = answer.map_err(|e| peer_status(&peer.master.task.name, &e))?;
    Reply::of(tonic::Response::new(answer), peer)
}

fn take<M: Message + Name + Default>(message: Arrived) -> Result<M, Status> {
    read(message).map(Request::into_inner)
}

/// The message of a call, with its large contents beside it.
fn read<M: Message + Name + Default>(arrived: Arrived) -> Result<Request<M>, Status> {
    let (message, contents) =
        arrived.decode().map_err(|e| Status::new(tonic::Code::from(e.code() as i32), e.message()))?;
    let mut request = Request::new(message);
    request.extensions_mut().insert(contents);
    Ok(request)
}

/// The message of a call, with who makes it.
fn of<M: Message + Name + Default>(caller: &Caller, arrived: Arrived) -> Result<Request<M>, Status> {
    let mut request = read(arrived)?;
    request.extensions_mut().insert(caller.clone());
    Ok(request)
}

/// A step's results are not copied on their way out, and may be too large for an answer.
async fn run_step(peer: &Peer, caller: &Caller, message: Arrived) -> Result<Reply, Status> {
    let request: Request<RunStepRequest> = of(caller, message)?;
    let errors_in_body = request.get_ref().store_errors_in_response_body;
    let response = peer.master.run_step(request).await?.into_inner();
    note_in_body(peer, caller, "RunStep", response.status_code, &response.status_error_message);
    match Reply::of_step(response, peer) {
        Err(status) if errors_in_body => {
            let told = RunStepResponse {
                status_code: status.code() as i32,
                status_error_message: status.message().into(),
                ..Default::default()
            };
            Reply::of(tonic::Response::new(told), peer)
        }
        reply => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_contents_are_looked_for_where_requests_have_them() {
        for (path, want) in [
            ("/tensorflow.MasterService/RunStep", RUN_STEP),
            ("/tensorflow.MasterService/RunCallable", RUN_CALLABLE),
            ("/tensorflow.WorkerService/RunGraph", RUN_GRAPH),
            ("/tensorflow.MasterService/CreateSession", NOWHERE),
            ("/other.Service/RunStep", NOWHERE),
            ("RunStep", NOWHERE),
        ] {
            assert_eq!(contents_of(path.as_bytes()), want, "{path}");
        }
    }

    #[test]
    fn paths_of_methods_are_known_and_of_others_a_beginning_is_told() {
        for path in METHODS {
            assert_eq!(known_path(Bytes::copy_from_slice(path.as_bytes())), path);
        }
        assert_eq!(known_path("/some.Service/Thing".into()), "/some.Service/Thing");
        assert_eq!(known_path(vec![b'x'; 120].into()), vec![b'x'; 120]);
        assert_eq!(known_path(vec![b'x'; 10_000].into()), vec![b'x'; 120]);
    }

    #[test]
    fn what_is_no_call_of_grpc_has_a_status_of_http() {
        let refusal = |method: Option<&'static str>, kind: Option<&'static str>| {
            let mut head = Head::default();
            (head.method, head.content_type) = (method.map(Bytes::from), kind.map(Bytes::from));
            http_refusal(&head)
        };
        assert_eq!(refusal(Some("POST"), Some("application/grpc")), None);
        assert_eq!(refusal(Some("POST"), Some("application/grpc+proto")), None);
        assert_eq!(refusal(Some("POST"), Some("application/json")), Some("415"));
        assert_eq!(refusal(Some("POST"), None), Some("415"));
        assert_eq!(refusal(Some("GET"), Some("application/grpc")), Some("405"));
        assert_eq!(refusal(None, Some("application/grpc")), Some("405"));
    }
}
