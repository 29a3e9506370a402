//! What connections need of the services that they lead to.

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

/// What is known of a call by its path.
pub struct Route {
    /// Static if the method exists, else only its beginning: a peer may send thousands of long ones.
    pub path: Bytes,
    /// Where the large contents of its request are.
    pub contents: ContentPath,
    /// The role that its caller must have.
    pub role: Role,
}

/// A call whose message has arrived.
pub struct Call {
    pub path: Bytes,
    pub caller: Caller,
    pub origin: Origin,
    pub connection: Arc<ConnectionToken>,
    pub timeout: Option<Duration>,
    pub message: ReceivedMessage,
    /// Bytes that the message of the answer may have.
    pub max_answer: usize,
}
