//! gRPC status of a failed call.

use thalweg_core::error::{Code, Error};

/// A canonical code and a text, sent as `grpc-status` and `grpc-message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: Code,
    message: String,
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }

    pub fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

/// For errors without a step or task: the text without origin.
impl From<&Error> for Status {
    fn from(e: &Error) -> Status {
        Status::new(e.code(), e.message())
    }
}
