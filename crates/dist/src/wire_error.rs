//! Errors as clients expect them: a code, and a text with the node in the form that they look for.

use thalweg_core::error::{Code, Error, internal};
use thalweg_runtime::executor::dead_fetch;
use tonic::Status;

/// The text of an error that a step of this task ended with, with the task before what one of its nodes said.
pub fn step_message(task: &str, e: &Error) -> String {
    match e.node() {
        Some(_) => format!("From {task}:\n{}", e.wire_message()),
        None => e.wire_message(),
    }
}

/// The error of a step: TensorFlow's master gets fetches from its workers as they get tensors from each other, so one without a
/// value is a failure of theirs, not of an argument.
pub fn of_step(e: Error, fetches: &[String]) -> Error {
    match dead_fetch::of(&e).and_then(|i| fetches.get(i)) {
        Some(fetch) => internal(format!(
            "Failed to fetch outputs. (Original error message: The tensor returned for {fetch} was not valid.)"
        )),
        None => e,
    }
}

/// An error as the status of a call. The text goes into a header, so it has a limit.
pub fn status(task: &str, e: &Error) -> Status {
    let mut text = step_message(task, e);
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("...");
    }
    Status::new(tonic::Code::from_i32(e.code() as i32), text)
}

/// Clients refuse headers over 8 KiB, and bytes may take three places each.
const MAX_TEXT: usize = 2500;

/// What a session that is not there is answered with: the client opens a new one.
pub fn no_session(handle: &str) -> Error {
    Error::new(Code::Aborted, format!("Session {handle} is not found."))
}

/// The same where TensorFlow's text says more.
pub fn no_session_any_more(code: Code, handle: &str) -> Error {
    Error::new(code, format!("Session {handle} is not found. Possibly, this master has restarted."))
}
