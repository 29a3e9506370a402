//! gRPC's unary calls over HTTP/2, as far as a task needs them.
//!
//! Tonic's own server copies each message once more on its way in and out, and allocates what a peer merely announces. Here
//! memory grows with what has arrived, and tensors are sent from where they lie.

mod request;
mod response;

pub use response::Reply;
use response::{large_run_graph, large_run_step, large_tensor};

use crate::master::Master;
use crate::wire_error::peer_status;
use crate::worker::Worker;
use http::{HeaderValue, Response, header};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::sync::Arc;
use thalweg_proto::Message;
use thalweg_proto::master_service_server::MasterService;
use tonic::{Request, Status};

const SERVICE: &str = "/tensorflow.MasterService/";
const WORKER_SERVICE: &str = "/tensorflow.WorkerService/";

/// Answers one call.
pub async fn answer(master: Master, request: http::Request<Incoming>) -> Result<Response<Reply>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let reply = match (path.strip_prefix(SERVICE), path.strip_prefix(WORKER_SERVICE)) {
        (Some(method), _) => call(&master, method, body).await,
        (_, Some(method)) => worker_call(&master.worker, method, body).await,
        _ => Err(Status::unimplemented(format!("there is no service at {}", head.uri.path()))),
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

async fn worker_call(w: &Arc<Worker>, method: &str, body: Incoming) -> Result<Reply, Status> {
    fn of<M: Message>(answer: thalweg_core::error::Result<M>) -> Result<Reply, Status> {
        answer.map(|m| Reply::of(&m)).map_err(|e| peer_status(&e))
    }
    match method {
        "RecvTensor" => {
            let answer = w.recv_tensor(take(body).await?).await;
            answer.map(large_tensor).map_err(|e| peer_status(&e))
        }
        "RunGraph" => {
            let answer = w.run_graph(take(body).await?).await;
            answer.map(large_run_graph).map_err(|e| peer_status(&e))
        }
        "CleanupGraph" => of(Ok(w.cleanup_graph(&take(body).await?))),
        "RegisterGraph" => of(w.register_graph(take(body).await?).await),
        "DeregisterGraph" => of(w.deregister_graph(&take(body).await?)),
        "GetStatus" => of(Ok(w.get_status())),
        "CreateWorkerSession" => of(w.create_worker_session(take(body).await?)),
        "DeleteWorkerSession" => of(Ok(w.delete_worker_session(&take(body).await?))),
        "CleanupAll" => of(Ok(w.cleanup_all(&take(body).await?))),
        "Logging" => of(Ok(w.logging(&take(body).await?))),
        _ => Err(Status::unimplemented(format!("{WORKER_SERVICE}{method} does not exist"))),
    }
}

async fn take<M: Message + Default>(body: Incoming) -> Result<M, Status> {
    read(body).await.map(Request::into_inner)
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
