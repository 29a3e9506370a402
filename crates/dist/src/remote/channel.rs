//! A connection to a task, for callers that wait: unary gRPC calls over one HTTP/2 connection, driven by a thread of its own.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::mpsc;
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result, deadline_exceeded, internal};
use thalweg_core::invalid;
use thalweg_proto::Message;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};

/// How long a task may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// What is under way on a connection at once.
const WINDOW: u32 = 16 << 20;

pub struct Channel {
    runtime: Handle,
    /// Dropping it ends the thread.
    _alive: tokio::sync::oneshot::Sender<()>,
    sender: SendRequest<Full<Bytes>>,
    address: String,
}

impl Channel {
    /// Connects to `grpc://host:port`.
    pub fn connect(target: &str) -> Result<Channel> {
        let address = target
            .strip_prefix("grpc://")
            .filter(|a| a.contains(':'))
            .ok_or_else(|| invalid!("'{target}' is not an address: it must look like grpc://host:port"))?
            .to_string();
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
                let made = runtime.block_on(open(&to));
                let handle = runtime.handle().clone();
                drop(tx.send(made.map(|sender| (handle, sender))));
                // Until the channel is dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(Error::from)?;
        let (runtime, sender) = rx.recv().map_err(|_| internal("the connection's thread ended"))??;
        Ok(Channel { runtime, _alive: alive, sender, address })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// One call: `path` is `/package.Service/Method`.
    pub fn call<A: Message, B: Message + Default + Send + 'static>(
        &self,
        path: &str,
        message: &A,
        timeout: Option<Duration>,
    ) -> Result<B> {
        let request = self.request(path, message)?;
        let (tx, rx) = mpsc::channel();
        let mut sender = self.sender.clone();
        let address = self.address.clone();
        let task = self
            .runtime
            .spawn(async move { drop(tx.send(unary::<B>(&mut sender, request, &address).await)) });
        let lost = || Error::new(Code::Unavailable, format!("the connection to {} was lost", self.address));
        match timeout {
            None => rx.recv().map_err(|_| lost())?,
            Some(t) => rx.recv_timeout(t).map_err(|e| match e {
                mpsc::RecvTimeoutError::Timeout => {
                    // The task sees the stream end, and cancels what it was doing.
                    task.abort();
                    deadline_exceeded(format!("{} did not answer within {t:?}", self.address))
                }
                mpsc::RecvTimeoutError::Disconnected => lost(),
            })?,
        }
    }

    fn request(&self, path: &str, message: &impl Message) -> Result<Request<Full<Bytes>>> {
        let size = message.encoded_len();
        let length = u32::try_from(size).ok().filter(|n| *n <= i32::MAX as u32);
        let length =
            length.ok_or_else(|| invalid!("a message of {size} bytes: at most 2 GiB can be sent"))?;
        let mut body = BytesMut::with_capacity(size + 5);
        body.put_u8(0);
        body.put_u32(length);
        message.encode(&mut body).map_err(|e| internal(format!("encoding a message: {e}")))?;
        Request::post(format!("http://{}{path}", self.address))
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            .header(header::USER_AGENT, "thalweg")
            .body(Full::new(body.freeze()))
            .map_err(|e| invalid!("{}: {e}", self.address))
    }
}

async fn open(address: &str) -> Result<SendRequest<Full<Bytes>>> {
    let unavailable = |e: &dyn std::fmt::Display| {
        Error::new(Code::Unavailable, format!("cannot reach grpc://{address}: {e}"))
    };
    let stream = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(address))
        .await
        .map_err(|_| unavailable(&format!("no answer within {CONNECT_TIME:?}")))?
        .map_err(|e| unavailable(&e))?;
    stream.set_nodelay(true).map_err(Error::from)?;
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|e| unavailable(&e))?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

async fn unary<B: Message + Default>(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    address: &str,
) -> Result<B> {
    let lost = |e: hyper::Error| Error::new(Code::Unavailable, format!("{address}: {e}"));
    sender.ready().await.map_err(lost)?;
    let response = sender.send_request(request).await.map_err(lost)?;
    let (head, body) = response.into_parts();
    let collected = body.collect().await.map_err(lost)?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    // An error without a message may come with the headers alone.
    let said = if trailers.contains_key("grpc-status") { &trailers } else { &head.headers };
    check(said, head.status)?;
    let mut bytes = collected.to_bytes();
    if bytes.len() < 5 || bytes.get_u8() != 0 || bytes.get_u32() as usize != bytes.len() {
        return Err(internal(format!("{address} answered with something that is not a gRPC message")));
    }
    B::decode(bytes).map_err(|e| internal(format!("{address} answered with a damaged message: {e}")))
}

fn check(said: &http::HeaderMap, status: http::StatusCode) -> Result<()> {
    let number = said.get("grpc-status").and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<i32>().ok());
    let message = said.get("grpc-message").map(|v| percent_decoded(v.as_bytes())).unwrap_or_default();
    match number {
        Some(0) => Ok(()),
        Some(code) => Err(Error::new(Code::from_wire(code), message)),
        None => Err(Error::new(Code::Unavailable, format!("not a gRPC server: HTTP status {status}"))),
    }
}

fn percent_decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let coded = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match coded.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_decoded() {
        assert_eq!(percent_decoded(b"a%20b%0Ac%"), "a b\nc%");
        assert_eq!(percent_decoded(b"100%zz"), "100%zz");
    }

    #[test]
    fn addresses_are_checked_and_nobody_there_is_unavailable() {
        let e = Channel::connect("localhost:1").err().unwrap();
        assert_eq!(e.code(), Code::InvalidArgument);
        let e = Channel::connect("grpc://127.0.0.1:1").err().unwrap();
        assert_eq!(e.code(), Code::Unavailable);
    }
}
