//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

mod arrived;
mod request;
mod response;

pub use arrived::Contents;

use crate::peers::Peer;
use arrived::Arrived;
use http::{HeaderValue, Response, header};
use hyper::body::Incoming;
use response::Reply;
use std::convert::Infallible;
use thalweg_proto::master_service_server::MasterService;
use thalweg_proto::{DecodeError, Message, RunStepRequest, RunStepResponse};
use tonic::{Request, Status};

const SERVICE: &str = "/tensorflow.MasterService/";

/// Answers one call.
pub async fn answer(peer: Peer, request: http::Request<Incoming>) -> Result<Response<Reply>, Infallible> {
    peer.answers.expected();
    let (head, body) = request.into_parts();
    let reply = match head.uri.path().strip_prefix(SERVICE) {
        Some(method) => call(&peer, method, body).await,
        None => Err(Status::unimplemented(format!("there is no service at {}", head.uri.path()))),
    };
    let mut response = match reply {
        Ok(reply) => Response::new(reply.watched(&peer)),
        Err(status) => status.into_http(),
    };
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    Ok(response)
}

async fn call(peer: &Peer, method: &str, body: Incoming) -> Result<Reply, Status> {
    let m = &peer.master;
    let arrived = request::message(body, peer).await?;
    match method {
        "RunStep" => return run_step(peer, arrived).await,
        "RunCallable" => Reply::of(m.run_callable(read(arrived)?).await?, peer),
        "CreateSession" => Reply::of(m.create_session(read(arrived)?).await?, peer),
        "ExtendSession" => Reply::of(m.extend_session(read(arrived)?).await?, peer),
        "PartialRunSetup" => Reply::of(m.partial_run_setup(read(arrived)?).await?, peer),
        "CloseSession" => Reply::of(m.close_session(read(arrived)?).await?, peer),
        "ListDevices" => Reply::of(m.list_devices(read(arrived)?).await?, peer),
        "Reset" => Reply::of(m.reset(read(arrived)?).await?, peer),
        "MakeCallable" => Reply::of(m.make_callable(read(arrived)?).await?, peer),
        "ReleaseCallable" => Reply::of(m.release_callable(read(arrived)?).await?, peer),
        _ => Err(Status::unimplemented(format!("{SERVICE}{method} does not exist"))),
    }
}

fn read<M: Message + Default>(arrived: Arrived) -> Result<Request<M>, Status> {
    M::decode(arrived.into_bytes()).map(Request::new).map_err(not_valid)
}

/// The one call that carries large tensors both ways: they are copied once on their way in and not at all on their way out.
async fn run_step(peer: &Peer, mut arrived: Arrived) -> Result<Reply, Status> {
    let message = RunStepRequest::decode(&mut arrived).map_err(not_valid)?;
    let errors_in_body = message.store_errors_in_response_body;
    let mut request = Request::new(message);
    request.extensions_mut().insert(arrived.contents);
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

fn not_valid(e: DecodeError) -> Status {
    Status::invalid_argument(format!("not a valid message: {e}"))
}
