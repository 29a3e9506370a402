//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

mod arrived;
pub mod arriving;
mod deadline;
pub mod fields;
mod request;
mod response;

pub use arrived::{Arrived, Contents};

use crate::peers::Peer;
use crate::wire_error::peer_status;
use crate::worker::{Worker, sender};
use fields::{NOWHERE, Path, RUN_CALLABLE, RUN_GRAPH, RUN_STEP};
use http::{HeaderValue, Response, header};
use hyper::body::Incoming;
use response::Reply;
use std::convert::Infallible;
use std::sync::Arc;
use thalweg_proto::master_service_server::MasterService;
use thalweg_proto::{Message, RecvTensorRequest, RunGraphRequest, RunStepRequest, RunStepResponse};
use tonic::{Request, Status};

const SERVICE: &str = "/tensorflow.MasterService/";
const WORKER_SERVICE: &str = "/tensorflow.WorkerService/";

/// Answers one call.
pub async fn answer(peer: Peer, request: http::Request<Incoming>) -> Result<Response<Reply>, Infallible> {
    peer.answers.expected();
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let reply = match (path.strip_prefix(SERVICE), path.strip_prefix(WORKER_SERVICE)) {
        (Some(method), _) => deadline::within(deadline::of(&head.headers), call(&peer, method, body)).await,
        (_, Some(method)) => worker_call(&peer, method, body).await,
        _ => Err(Status::unimplemented(format!("there is no service at {}", head.uri.path()))),
    };
    let mut response = match reply.and_then(|reply| reply.watched(&peer)) {
        Ok(reply) => Response::new(reply),
        Err(status) => status.into_http(),
    };
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    Ok(response)
}

async fn call(peer: &Peer, method: &str, body: Incoming) -> Result<Reply, Status> {
    let m = &peer.master;
    match method {
        "RunStep" => run_step(peer, body).await,
        "RunCallable" => Reply::of(m.run_callable(read(body, RUN_CALLABLE, peer).await?).await?, peer),
        "CreateSession" => Reply::of(m.create_session(read(body, NOWHERE, peer).await?).await?, peer),
        "ExtendSession" => Reply::of(m.extend_session(read(body, NOWHERE, peer).await?).await?, peer),
        "PartialRunSetup" => Reply::of(m.partial_run_setup(read(body, NOWHERE, peer).await?).await?, peer),
        "CloseSession" => Reply::of(m.close_session(read(body, NOWHERE, peer).await?).await?, peer),
        "ListDevices" => Reply::of(m.list_devices(read(body, NOWHERE, peer).await?).await?, peer),
        "Reset" => Reply::of(m.reset(read(body, NOWHERE, peer).await?).await?, peer),
        "MakeCallable" => Reply::of(m.make_callable(read(body, NOWHERE, peer).await?).await?, peer),
        "ReleaseCallable" => Reply::of(m.release_callable(read(body, NOWHERE, peer).await?).await?, peer),
        _ => Err(Status::unimplemented(format!("{SERVICE}{method} does not exist"))),
    }
}

async fn worker_call(peer: &Peer, method: &str, body: Incoming) -> Result<Reply, Status> {
    let w: &Arc<Worker> = &peer.master.worker;
    let failed = |e| peer_status(&w.task.name, &e);
    match method {
        "RecvTensor" => {
            let request: RecvTensorRequest = take(body, peer).await?;
            // Who asks knows us by the name in the key, which may be that of a session's own cluster.
            let us = sender(&request.rendezvous_key).unwrap_or(&w.task.name).to_string();
            let answer = w.recv_tensor(request).await;
            Reply::of_tensor(answer.map_err(|e| peer_status(&us, &e))?, peer)
        }
        "RunGraph" => {
            let request: Request<RunGraphRequest> = read(body, RUN_GRAPH, peer).await?;
            let (_, mut extensions, request) = request.into_parts();
            let answer = w.run_graph(request, extensions.remove().unwrap_or_default(), &peer.line).await;
            Reply::of_graph(answer.map_err(failed)?, peer)
        }
        "CleanupGraph" => whole(Ok(w.cleanup_graph(&take(body, peer).await?)), peer),
        "RegisterGraph" => whole(w.register_graph(take(body, peer).await?, &peer.line).await, peer),
        "DeregisterGraph" => whole(w.deregister_graph(&take(body, peer).await?), peer),
        "GetStatus" => whole(Ok(w.get_status()), peer),
        "CreateWorkerSession" => whole(w.create_worker_session(take(body, peer).await?, &peer.line), peer),
        "DeleteWorkerSession" => whole(Ok(w.delete_worker_session(&take(body, peer).await?)), peer),
        "CleanupAll" => whole(Ok(w.cleanup_all(&take(body, peer).await?)), peer),
        "Logging" => whole(Ok(w.logging(&take(body, peer).await?)), peer),
        _ => Err(Status::unimplemented(format!("{WORKER_SERVICE}{method} does not exist"))),
    }
}

/// An answer to another task, written in one piece.
fn whole<M: Message>(answer: thalweg_core::error::Result<M>, peer: &Peer) -> Result<Reply, Status> {
    let answer = answer.map_err(|e| peer_status(&peer.master.task.name, &e))?;
    Reply::of(tonic::Response::new(answer), peer)
}

async fn take<M: Message + Default>(body: Incoming, peer: &Peer) -> Result<M, Status> {
    read(body, NOWHERE, peer).await.map(Request::into_inner)
}

/// The message of a call, with its large contents beside it.
async fn read<M: Message + Default>(body: Incoming, path: Path, peer: &Peer) -> Result<Request<M>, Status> {
    let mut arrived = request::message(body, path, peer).await?;
    let message =
        M::decode(&mut arrived).map_err(|e| Status::invalid_argument(format!("not a valid message: {e}")))?;
    let mut request = Request::new(message);
    if !arrived.contents.is_empty() {
        request.extensions_mut().insert(arrived.contents);
    }
    Ok(request)
}

/// A step's results are not copied on their way out, and may be too large for an answer.
async fn run_step(peer: &Peer, body: Incoming) -> Result<Reply, Status> {
    let request: Request<RunStepRequest> = read(body, RUN_STEP, peer).await?;
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
