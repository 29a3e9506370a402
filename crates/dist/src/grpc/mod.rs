//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

mod request;
mod response;

pub use response::{Reply, large_run_step};

use crate::master::Master;
use http::{HeaderValue, Response, header};
use hyper::body::Incoming;
use std::convert::Infallible;
use thalweg_proto::Message;
use thalweg_proto::master_service_server::MasterService;
use tonic::{Request, Status};

const SERVICE: &str = "/tensorflow.MasterService/";

/// Answers one call.
pub async fn answer(master: Master, request: http::Request<Incoming>) -> Result<Response<Reply>, Infallible> {
    let (head, body) = request.into_parts();
    let reply = match head.uri.path().strip_prefix(SERVICE) {
        Some(method) => call(&master, method, body).await,
        None => Err(Status::unimplemented(format!("there is no service at {}", head.uri.path()))),
    };
    let mut response = match reply {
        Ok(reply) => Response::new(reply),
        Err(status) => status.into_http(),
    };
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    Ok(response)
}

async fn call(m: &Master, method: &str, body: Incoming) -> Result<Reply, Status> {
    match method {
        "RunStep" => m.run_step(read(body).await?).await.map(|r| large_run_step(r.into_inner())),
        "RunCallable" => m.run_callable(read(body).await?).await.map(written),
        "CreateSession" => m.create_session(read(body).await?).await.map(written),
        "ExtendSession" => m.extend_session(read(body).await?).await.map(written),
        "PartialRunSetup" => m.partial_run_setup(read(body).await?).await.map(written),
        "CloseSession" => m.close_session(read(body).await?).await.map(written),
        "ListDevices" => m.list_devices(read(body).await?).await.map(written),
        "Reset" => m.reset(read(body).await?).await.map(written),
        "MakeCallable" => m.make_callable(read(body).await?).await.map(written),
        "ReleaseCallable" => m.release_callable(read(body).await?).await.map(written),
        _ => Err(Status::unimplemented(format!("{SERVICE}{method} does not exist"))),
    }
}

async fn read<M: Message + Default>(body: Incoming) -> Result<Request<M>, Status> {
    let bytes = request::message(body).await?;
    let message =
        M::decode(bytes).map_err(|e| Status::invalid_argument(format!("not a valid message: {e}")))?;
    Ok(Request::new(message))
}

fn written<M: Message>(response: tonic::Response<M>) -> Reply {
    Reply::of(&response.into_inner())
}
