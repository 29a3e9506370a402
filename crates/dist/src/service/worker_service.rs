//! `tensorflow.WorkerService`: decoding and encoding.

use super::methods::{Services, message, read};
use crate::net::grpc::{Answer, Reply};
use crate::net::server::service::Call;
use crate::wire::error::peer_status;
use crate::worker::sender;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_proto::{Message, RecvTensorRequest, RunGraphRequest};

type Shared = Arc<Services>;

/// The response to another task, in one piece.
fn answer<M: Message>(s: &Services, c: &Call, result: Result<M>) -> Answer {
    match result {
        Ok(response) => Reply::of(&response, c.max_answer),
        Err(e) => Err(peer_status(&s.master.task.name, &e)),
    }
}

pub async fn recv_tensor(s: Shared, mut c: Call) -> Answer {
    let (worker, request): (_, RecvTensorRequest) = (&s.master.worker, message(&mut c)?);
    // The receiver knows us by the name in the key, which may be from a session's own cluster.
    let us = sender(&request.rendezvous_key).unwrap_or(&worker.task.name).to_string();
    match worker.recv_tensor(request).await {
        Ok(response) => Reply::of_tensor(response, c.max_answer),
        Err(e) => Err(peer_status(&us, &e)),
    }
}

pub async fn run_graph(s: Shared, mut c: Call) -> Answer {
    let (request, contents): (RunGraphRequest, _) = read(&mut c)?;
    let in_body = request.store_errors_in_response_body;
    let (session, created) = (request.session_handle.clone(), request.create_worker_session_called);
    let worker = &s.master.worker;
    let result = worker.run_graph(request, contents, &c.connection, &c.caller.party).await;
    let status = |e: &_| peer_status(&worker.task.name, e);
    s.step_answer(&c, in_body, result, |e| worker.message(&session, created, e), status)
}

pub async fn register_graph(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    let result = s.master.worker.register_graph(request, &c.connection, &c.caller.party).await;
    answer(&s, &c, result)
}

pub async fn deregister_graph(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    answer(&s, &c, s.master.worker.deregister_graph(&request))
}

pub async fn create_worker_session(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    answer(&s, &c, s.master.worker.create_worker_session(request, &c.connection))
}

pub async fn delete_worker_session(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    answer(&s, &c, Ok(s.master.worker.delete_worker_session(&request)))
}

pub async fn cleanup_graph(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    answer(&s, &c, Ok(s.master.worker.cleanup_graph(&request)))
}

pub async fn cleanup_all(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    let result = s.master.worker.cleanup_all(request).await;
    answer(&s, &c, result)
}

/// Its request is empty, and not decoded.
pub async fn get_status(s: Shared, c: Call) -> Answer {
    answer(&s, &c, Ok(s.master.worker.get_status()))
}

pub async fn logging(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    answer(&s, &c, Ok(s.master.worker.logging(&request)))
}
