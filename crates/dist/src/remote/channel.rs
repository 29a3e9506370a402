//! A blocking channel to a task: unary gRPC calls over one HTTP/2 connection at a time, driven by its own thread.
//!
//! A server may retire a connection at any time, as when it needs the slot of an idle one. The channel then opens another, and
//! calls that the server has refused without processing them are made again there.

use crate::net::client_connection::{ClientConnection, Request, open};
use crate::net::credentials::{Credentials, Outgoing};
use crate::net::grpc::ReceivedMessage;
use crate::net::grpc::content_scanner::NO_CONTENT;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, deadline_exceeded, internal};
use thalweg_core::sync::lock;
use thalweg_proto::{Message, Name};
use tokio::runtime::{Builder, Handle};

/// Timeout and cancellation of a call.
#[derive(Clone, Default)]
pub struct Limits {
    pub timeout: Option<Duration>,
    pub cancel: Option<Arc<Cancellation>>,
}

pub struct Channel {
    /// Dropping it ends the thread.
    _alive: tokio::sync::oneshot::Sender<()>,
    runtime: Handle,
    outgoing: Outgoing,
    connection: Mutex<ClientConnection>,
    address: String,
}

/// How often a call is made that the server refuses to process.
const TRIES: usize = 5;

impl Channel {
    /// Connects to `grpc://host:port`, or with TLS to `grpcs://host:port`.
    pub fn connect(target: &str, credentials: &Credentials) -> Result<Channel> {
        let (address, outgoing) = credentials.resolve(target)?;
        let (alive, ended) = tokio::sync::oneshot::channel::<()>();
        let (tx, rx) = mpsc::channel();
        let (to, how) = (address.clone(), outgoing.clone());
        std::thread::Builder::new()
            .name("thalweg-channel".into())
            .spawn(move || {
                let runtime = match Builder::new_current_thread().enable_all().build() {
                    Ok(r) => r,
                    Err(e) => return drop(tx.send(Err(Error::from(e)))),
                };
                let made = runtime.block_on(open(&to, None, &how));
                drop(tx.send(made.map(|connection| (runtime.handle().clone(), connection))));
                // Until the channel is dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(Error::from)?;
        let (runtime, connection) = rx.recv().map_err(|_| internal("the connection's thread ended"))??;
        Ok(Channel { _alive: alive, runtime, outgoing, connection: Mutex::new(connection), address })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// One call: `path` is `/package.Service/Method`.
    pub fn call<A: Message, B: Message + Name + Default + Send + 'static>(
        &self,
        path: &str,
        message: &A,
        limits: &Limits,
    ) -> Result<B> {
        let request = Request::new(path.to_string(), message)?;
        let (mut answer, mut refused) = self.try_once(request.clone(), limits);
        for _ in 1..TRIES {
            if !refused {
                break;
            }
            (answer, refused) = self.try_once(request.clone(), limits);
        }
        let (message, _) = answer?
            .decode()
            .map_err(|e| internal(format_args!("{} answered with a damaged message: {e}", self.address)))?;
        Ok(message)
    }

    /// The response, and whether the server refused to process the call.
    fn try_once(&self, request: Request, limits: &Limits) -> (Result<ReceivedMessage>, bool) {
        let connection = match self.open_connection(limits) {
            Ok(connection) => connection,
            Err(e) => return (Err(e), false),
        };
        let (tx, rx) = mpsc::channel();
        let answered = tx.clone();
        let asking = Arc::new(connection.ask(request, NO_CONTENT, Box::new(move |a| drop(answered.send(a)))));
        let heard = limits.cancel.as_ref().map(|cancel| {
            let asking = asking.clone();
            let stop = move |e: &Error| {
                asking.cancel();
                drop(tx.send(Err(e.clone())));
            };
            (cancel, cancel.on_cancel(stop))
        });
        let answer = self.wait(&rx, limits.timeout);
        if let Some((cancel, token)) = heard {
            cancel.forget(token);
        }
        if answer.is_err() {
            asking.cancel();
        }
        let refused = answer.is_err() && asking.was_refused();
        (answer, refused)
    }

    /// The connection, or another one if it is retired. One that was lost stays lost: what its server held may be gone too.
    fn open_connection(&self, limits: &Limits) -> Result<ClientConnection> {
        let mut connection = lock(&self.connection);
        if connection.is_retired() {
            let (tx, rx) = mpsc::channel();
            let (to, how) = (self.address.clone(), self.outgoing.clone());
            drop(self.runtime.spawn(async move { drop(tx.send(open(&to, None, &how).await)) }));
            *connection = self.wait(&rx, limits.timeout)?;
        }
        Ok(connection.clone())
    }

    fn wait<T>(&self, rx: &mpsc::Receiver<Result<T>>, timeout: Option<Duration>) -> Result<T> {
        let lost =
            || Error::new(Code::Unavailable, format_args!("the connection to {} was lost", self.address));
        match timeout {
            None => rx.recv().map_err(|_| lost())?,
            Some(t) => rx.recv_timeout(t).map_err(|e| match e {
                mpsc::RecvTimeoutError::Timeout => {
                    deadline_exceeded(format_args!("{} did not answer within {t:?}", self.address))
                }
                mpsc::RecvTimeoutError::Disconnected => lost(),
            })?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_nobody_there_is_unavailable() {
        let e = Channel::connect("localhost:1", &Credentials::default()).err().unwrap();
        assert_eq!(e.code(), Code::InvalidArgument);
        let e = Channel::connect("grpc://127.0.0.1:1", &Credentials::default()).err().unwrap();
        assert_eq!(e.code(), Code::Unavailable);
    }
}
