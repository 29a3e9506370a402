//! The interface of services to connections.

use super::peer::ConnectionToken;
use crate::auth::{Caller, Origin, Role};
use crate::net::grpc::content_scanner::ContentPath;
use crate::net::grpc::{Answer, ReceivedMessage};
use bytes::Bytes;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The services of a task.
pub trait Service: Send + Sync {
    fn route(&self, path: &[u8]) -> Route;

    /// Runs a call. Dropping the future cancels it.
    fn call(self: Arc<Self>, call: Call) -> Answering;
}

pub type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Properties of a method.
pub struct Route {
    /// Static if the method exists, else only a prefix: a peer may send thousands of long ones.
    pub path: Bytes,
    /// The path of its request's large contents.
    pub contents: ContentPath,
    /// The role that callers need.
    pub role: Role,
}

/// A call with its complete request.
pub struct Call {
    pub path: Bytes,
    pub caller: Caller,
    pub origin: Origin,
    pub connection: Arc<ConnectionToken>,
    pub timeout: Option<Duration>,
    pub message: ReceivedMessage,
    /// Limit in bytes of the response message.
    pub max_answer: usize,
}
