//! Errors as clients expect them: a code, and a text with the node in TensorFlow's format.

use super::Status;
use thalweg_core::error::{Code, Error, internal};
use thalweg_runtime::executor::dead_fetch;

/// The text of a step's error; the task's name precedes an error of a node.
pub fn step_message(task: &str, e: &Error) -> String {
    match e.node() {
        Some(_) if e.message().starts_with("From /job:") => e.wire_message(),
        Some(_) => format!("From {task}:\n{}", e.wire_message()),
        None => e.wire_message(),
    }
}

/// Prefix of a derived error: the original one is reported elsewhere.
const DERIVED: &str = "[_Derived_]";

/// The text of an error of this task for another.
pub fn peer_message(task: &str, e: &Error) -> String {
    // With its origin even so: the failed task may be unable to report it.
    let text = step_message(task, e);
    if e.is_derived() { format!("{DERIVED}{text}") } else { text }
}

/// An error received from another task.
pub fn received(task: &str, code: Code, text: &str) -> Error {
    if let Some(text) = text.strip_prefix(DERIVED) {
        return Error::new(code, text).derived();
    }
    match text.starts_with("From /job:") {
        true => Error::new(code, text),
        false => Error::new(code, format_args!("From {task}:\n{text}")),
    }
}

/// An error as the status of another task's call.
pub fn peer_status(task: &str, e: &Error) -> Status {
    Status::new(e.code(), shortened(peer_message(task, e)))
}

/// The error of a step: TensorFlow's master receives fetches from workers by rendezvous, so a dead one
/// is an internal error, not an invalid argument.
pub fn of_step(e: Error, fetches: &[String]) -> Error {
    match dead_fetch::of(&e).and_then(|i| fetches.get(i)) {
        Some(fetch) => internal(format_args!(
            "Failed to fetch outputs. (Original error message: The tensor returned for {fetch} was not valid.)"
        )),
        None => e,
    }
}

/// An error as the status of a call. The text goes into a header, so it has a limit.
pub fn status(task: &str, e: &Error) -> Status {
    Status::new(e.code(), shortened(step_message(task, e)))
}

/// The same for an error of the connection, without a task's name.
pub fn connection_status(e: &Error) -> Status {
    Status::new(e.code(), shortened(e.wire_message()))
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("...");
    }
    text
}

/// Clients reject headers over 8 KiB, and percent-encoding triples bytes.
const MAX_TEXT: usize = 2500;

/// The error for an unknown session: the client opens a new one.
pub fn no_session(handle: &str) -> Error {
    Error::new(Code::Aborted, format_args!("Session {handle} is not found."))
}

/// The same with TensorFlow's longer text.
pub fn no_session_any_more(code: Code, handle: &str) -> Error {
    Error::new(code, format_args!("Session {handle} is not found. Possibly, this master has restarted."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_a_header_is_cut_where_it_is_too_long() {
        let exact = "x".repeat(MAX_TEXT);
        assert_eq!(shortened(exact.clone()), exact);
        assert_eq!(shortened(format!("{exact}y")), format!("{exact}..."));
        // Not inside a UTF-8 character.
        let wide = shortened("\u{e4}".repeat(MAX_TEXT));
        assert_eq!(wide, format!("{}...", "\u{e4}".repeat(MAX_TEXT / 2)));
    }

    #[test]
    fn an_error_is_blamed_on_the_task_it_comes_from_once() {
        let (ps, worker) = ("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0");
        let told = received(ps, Code::Aborted, "no");
        assert_eq!((told.code(), told.message()), (Code::Aborted, "From /job:ps/replica:0/task:0:\nno"));
        assert_eq!(received(worker, Code::Aborted, told.message()).message(), told.message());
        let derived = Error::new(Code::Cancelled, "because").derived();
        let text = peer_message(ps, &derived);
        assert!(text.starts_with(DERIVED));
        let heard = received(worker, Code::Cancelled, &text);
        assert!(heard.is_derived() && !heard.message().contains(DERIVED), "{heard}");
        assert_eq!(peer_status(ps, &derived).code(), Code::Cancelled);
    }

    #[test]
    fn what_a_node_said_is_told_with_its_task_unless_that_is_another() {
        let said = Error::new(Code::Internal, "no").at_node("x", "Neg");
        let text = step_message("/job:a", &said);
        assert!(text.starts_with("From /job:a:\nno") && text.contains("{{node x}}"), "{text}");
        let theirs = Error::new(Code::Internal, "From /job:b:\nno").at_node("x", "Neg");
        assert!(step_message("/job:a", &theirs).starts_with("From /job:b:"));
        assert_eq!(step_message("/job:a", &Error::new(Code::Internal, "no")), "no");
    }
}
