//! A blocking connection to a task: unary gRPC calls over one HTTP/2 connection, driven by its own thread.

use crate::net::client_connection::{ClientConnection, Request, open};
use crate::net::credentials::Credentials;
use crate::net::grpc::content_scanner::NO_CONTENT;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, deadline_exceeded, internal};
use thalweg_proto::{Message, Name};
use tokio::runtime::Builder;

/// Timeout and cancellation of a call.
#[derive(Clone, Default)]
pub struct Limits {
    pub timeout: Option<Duration>,
    pub cancel: Option<Arc<Cancellation>>,
}

pub struct Channel {
    /// Dropping it ends the thread.
    _alive: tokio::sync::oneshot::Sender<()>,
    sender: ClientConnection,
    address: String,
}

impl Channel {
    /// Connects to `grpc://host:port`, or with TLS to `grpcs://host:port`.
    pub fn connect(target: &str, credentials: &Credentials) -> Result<Channel> {
        let (address, outgoing) = credentials.resolve(target)?;
        let (alive, ended) = tokio::sync::oneshot::channel::<()>();
        let (tx, rx) = mpsc::channel();
        let to = address.clone();
        std::thread::Builder::new()
            .name("thalweg-channel".into())
            .spawn(move || {
                let runtime = match Builder::new_current_thread().enable_all().build() {
                    Ok(r) => r,
                    Err(e) => return drop(tx.send(Err(Error::from(e)))),
                };
                let made = runtime.block_on(open(&to, None, &outgoing));
                drop(tx.send(made));
                // Until the channel is dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(Error::from)?;
        let sender = rx.recv().map_err(|_| internal("the connection's thread ended"))??;
        Ok(Channel { _alive: alive, sender, address })
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
        let (tx, rx) = mpsc::channel();
        let answered = tx.clone();
        let asking =
            Arc::new(self.sender.ask(request, NO_CONTENT, Box::new(move |a| drop(answered.send(a)))));
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
        let (message, _) = answer?
            .decode()
            .map_err(|e| internal(format_args!("{} answered with a damaged message: {e}", self.address)))?;
        Ok(message)
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
