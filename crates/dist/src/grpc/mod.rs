//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

mod arrived;
mod arriving;
mod collecting;
mod deadline;
pub mod fields;
mod percent;
mod response;

pub use arrived::{Arrived, Contents};
pub use collecting::{Collecting, Refusal};
pub use deadline::timeout;
pub use percent::{percent_coded, percent_decoded};

use crate::peers::Peer;
use crate::wire_error::peer_status;
use crate::worker::{Worker, sender};
use bytes::Bytes;
use fields::{NOWHERE, Path, RUN_CALLABLE, RUN_GRAPH, RUN_STEP};
use response::Reply;
use std::sync::Arc;
use std::time::Duration;
use thalweg_proto::master_service_server::MasterService;
use thalweg_proto::{Message, RecvTensorRequest, RunGraphRequest, RunStepRequest, RunStepResponse};
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

/// Answers one call.
pub async fn answer(peer: Arc<Peer>, path: Bytes, timeout: Option<Duration>, message: Arrived) -> Answer {
    let path = std::str::from_utf8(&path).unwrap_or_default();
    match (path.strip_prefix(SERVICE), path.strip_prefix(WORKER_SERVICE)) {
        (Some(method), _) => deadline::within(timeout, call(&peer, method, message)).await,
        (_, Some(method)) => worker_call(&peer, method, message).await,
        _ => Err(Status::unimplemented(format!("there is no service at {path}"))),
    }
}

async fn call(peer: &Peer, method: &str, message: Arrived) -> Result<Reply, Status> {
    let m = &peer.master;
    match method {
        "RunStep" => run_step(peer, message).await,
        "RunCallable" => Reply::of(m.run_callable(read(message)?).await?, peer),
        "CreateSession" => Reply::of(m.create_session(read(message)?).await?, peer),
        "ExtendSession" => Reply::of(m.extend_session(read(message)?).await?, peer),
        "PartialRunSetup" => Reply::of(m.partial_run_setup(read(message)?).await?, peer),
        "CloseSession" => Reply::of(m.close_session(read(message)?).await?, peer),
        "ListDevices" => Reply::of(m.list_devices(read(message)?).await?, peer),
        "Reset" => Reply::of(m.reset(read(message)?).await?, peer),
        "MakeCallable" => Reply::of(m.make_callable(read(message)?).await?, peer),
        "ReleaseCallable" => Reply::of(m.release_callable(read(message)?).await?, peer),
        _ => Err(Status::unimplemented(format!("{SERVICE}{method} does not exist"))),
    }
}

async fn worker_call(peer: &Peer, method: &str, message: Arrived) -> Result<Reply, Status> {
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
            let answer = w.run_graph(request, extensions.remove().unwrap_or_default(), &peer.line).await;
            Reply::of_graph(answer.map_err(failed)?, peer)
        }
        "CleanupGraph" => whole(Ok(w.cleanup_graph(&take(message)?)), peer),
        "RegisterGraph" => whole(w.register_graph(take(message)?, &peer.line).await, peer),
        "DeregisterGraph" => whole(w.deregister_graph(&take(message)?), peer),
        "GetStatus" => whole(Ok(w.get_status()), peer),
        "CreateWorkerSession" => whole(w.create_worker_session(take(message)?, &peer.line), peer),
        "DeleteWorkerSession" => whole(Ok(w.delete_worker_session(&take(message)?)), peer),
        "CleanupAll" => whole(Ok(w.cleanup_all(&take(message)?)), peer),
        "Logging" => whole(Ok(w.logging(&take(message)?)), peer),
        _ => Err(Status::unimplemented(format!("{WORKER_SERVICE}{method} does not exist"))),
    }
}

/// An answer to another task, written in one piece.
fn whole<M: Message>(answer: thalweg_core::error::Result<M>, peer: &Peer) -> Result<Reply, Status> {
    let answer = answer.map_err(|e| peer_status(&peer.master.task.name, &e))?;
    Reply::of(tonic::Response::new(answer), peer)
}

fn take<M: Message + Default>(message: Arrived) -> Result<M, Status> {
    read(message).map(Request::into_inner)
}

/// The message of a call, with its large contents beside it.
fn read<M: Message + Default>(arrived: Arrived) -> Result<Request<M>, Status> {
    let (message, contents) =
        arrived.decode().map_err(|e| Status::new(tonic::Code::from(e.code() as i32), e.message()))?;
    let mut request = Request::new(message);
    if !contents.is_empty() {
        request.extensions_mut().insert(contents);
    }
    Ok(request)
}

/// A step's results are not copied on their way out, and may be too large for an answer.
async fn run_step(peer: &Peer, message: Arrived) -> Result<Reply, Status> {
    let request: Request<RunStepRequest> = read(message)?;
    let errors_in_body = request.get_ref().store_errors_in_response_body;
    let response = peer.master.run_step(request).await?.into_inner();
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
