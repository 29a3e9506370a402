//! `tensorflow.MasterService`: decoding and encoding.

use super::methods::{Services, message, read};
use crate::net::grpc::{Answer, Reply};
use crate::net::server::service::Call;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_proto::{
    CloseSessionRequest, CreateSessionRequest, ExtendSessionRequest, ListDevicesRequest, MakeCallableRequest,
    Message, PartialRunSetupRequest, ReleaseCallableRequest, RunCallableRequest, RunStepRequest,
};

type Shared = Arc<Services>;

/// The response to a session's call.
fn answer<M: Message>(s: &Services, c: &Call, session: &str, result: Result<M>) -> Answer {
    match result {
        Ok(response) => Reply::of(&response, c.max_answer),
        Err(e) => Err(s.master.status(session, &e)),
    }
}

pub async fn create_session(s: Shared, mut c: Call) -> Answer {
    let request: CreateSessionRequest = message(&mut c)?;
    let made = s.master.create_session(c.caller.clone(), request).await;
    answer(&s, &c, "", made)
}

pub async fn run_step(s: Shared, mut c: Call) -> Answer {
    let (request, contents): (RunStepRequest, _) = read(&mut c)?;
    let (session, in_body) = (request.session_handle.clone(), request.store_errors_in_response_body);
    let result = s.master.run_step(&c.caller, request, contents).await;
    let (message, status) = (|e: &_| s.master.message(&session, e), |e: &_| s.master.status(&session, e));
    s.step_answer(&c, in_body, result, message, status)
}

pub async fn run_callable(s: Shared, mut c: Call) -> Answer {
    let (request, contents): (RunCallableRequest, _) = read(&mut c)?;
    let session = request.session_handle.clone();
    let result = s.master.run_callable(&c.caller, request, contents).await;
    answer(&s, &c, &session, result)
}

pub async fn reset(s: Shared, mut c: Call) -> Answer {
    let request = message(&mut c)?;
    let result = s.master.reset(request).await;
    answer(&s, &c, "", result)
}

pub async fn extend_session(s: Shared, mut c: Call) -> Answer {
    let request: ExtendSessionRequest = message(&mut c)?;
    let session = request.session_handle.clone();
    let result = s.master.extend_session(&c.caller, request).await;
    answer(&s, &c, &session, result)
}

pub async fn partial_run_setup(s: Shared, mut c: Call) -> Answer {
    let request: PartialRunSetupRequest = message(&mut c)?;
    let session = request.session_handle.clone();
    let result = s.master.partial_run_setup(&c.caller, request).await;
    answer(&s, &c, &session, result)
}

pub async fn make_callable(s: Shared, mut c: Call) -> Answer {
    let request: MakeCallableRequest = message(&mut c)?;
    let session = request.session_handle.clone();
    let result = s.master.make_callable(&c.caller, request).await;
    answer(&s, &c, &session, result)
}

pub async fn close_session(s: Shared, mut c: Call) -> Answer {
    let request: CloseSessionRequest = message(&mut c)?;
    answer(&s, &c, &request.session_handle, s.master.close_session(&c.caller, &request))
}

pub async fn list_devices(s: Shared, mut c: Call) -> Answer {
    let request: ListDevicesRequest = message(&mut c)?;
    answer(&s, &c, &request.session_handle, s.master.list_devices(&c.caller, &request))
}

pub async fn release_callable(s: Shared, mut c: Call) -> Answer {
    let request: ReleaseCallableRequest = message(&mut c)?;
    answer(&s, &c, &request.session_handle, s.master.release_callable(&c.caller, &request))
}
