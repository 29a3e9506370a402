//! How a call failed, as gRPC says it.

use thalweg_core::error::{Code, Error};

/// A canonical code and a text, which become `grpc-status` and `grpc-message`.
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

/// For errors that no step or task is to blame for: the text without origin.
impl From<&Error> for Status {
    fn from(e: &Error) -> Status {
        Status::new(e.code(), e.message())
    }
}
