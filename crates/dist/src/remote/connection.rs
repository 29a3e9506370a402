//! A connection to a task: unary gRPC calls over HTTP/2.

use crate::grpc::Arrived;
use crate::grpc::arriving::Arriving;
use crate::grpc::fields::Path;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::invalid;
use thalweg_proto::Message;
use tokio::net::TcpStream;

/// How long a task may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// What may be under way at once: tensors of some megabytes arrive without waiting for more credit.
const STREAM_WINDOW: u32 = 64 << 20;
const CONNECTION_WINDOW: u32 = 256 << 20;
/// Large frames are cheaper; not so large that a small tensor waits long for one.
const FRAME: u32 = 1 << 20;

pub type Sender = SendRequest<Full<Bytes>>;

/// How a peer that has gone silent is found out.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub ask_every: Duration,
    pub answer_within: Duration,
}

/// A call's request: `path` is `/package.Service/Method`.
pub fn request(address: &str, path: &str, message: &impl Message) -> Result<Request<Full<Bytes>>> {
    let size = message.encoded_len();
    let length = u32::try_from(size).ok().filter(|n| *n <= i32::MAX as u32);
    let length = length.ok_or_else(|| invalid!("a message of {size} bytes: at most 2 GiB can be sent"))?;
    let mut body = BytesMut::with_capacity(size + 5);
    body.put_u8(0);
    body.put_u32(length);
    message.encode(&mut body).map_err(|e| internal(format!("encoding a message: {e}")))?;
    Request::post(format!("http://{}{path}", address))
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, "thalweg")
        .body(Full::new(body.freeze()))
        .map_err(|e| invalid!("{}: {e}", address))
}

/// Connects to `host:port`.
pub async fn open(address: &str, patience: Option<Patience>) -> Result<Sender> {
    let unavailable = |e: &dyn std::fmt::Display| {
        Error::new(Code::Unavailable, format!("cannot reach grpc://{address}: {e}"))
    };
    let stream = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(address))
        .await
        .map_err(|_| unavailable(&format!("no answer within {CONNECT_TIME:?}")))?
        .map_err(|e| unavailable(&e))?;
    stream.set_nodelay(true).map_err(Error::from)?;
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME);
    if let Some(patience) = patience {
        builder.keep_alive_interval(patience.ask_every).keep_alive_timeout(patience.answer_within);
    }
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|e| unavailable(&e))?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// One call: the message of the answer, whose large contents lie at `path`.
pub async fn unary(
    sender: &mut Sender,
    request: Request<Full<Bytes>>,
    address: &str,
    path: Path,
) -> Result<Arrived> {
    let lost = |e: hyper::Error| Error::new(Code::Unavailable, format!("{address}: {e}"));
    sender.ready().await.map_err(lost)?;
    let response = sender.send_request(request).await.map_err(lost)?;
    let (head, mut body) = response.into_parts();
    let mut answer = Answer { path, address, prefix: BytesMut::new(), arriving: None };
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        match frame.map_err(lost)?.into_data() {
            Ok(data) => answer.push(data)?,
            Err(other) => trailers = other.into_trailers().ok(),
        }
    }
    // An error without a message may come with the headers alone.
    let said = trailers.filter(|t| t.contains_key("grpc-status"));
    check(said.as_ref().unwrap_or(&head.headers), head.status)?;
    answer.finish()
}

/// A message of an answer, as it arrives.
struct Answer<'a> {
    path: Path,
    address: &'a str,
    /// What has come of the five bytes before the message.
    prefix: BytesMut,
    arriving: Option<Arriving>,
}

/// A byte that says whether the message is compressed, and its length.
const PREFIX: usize = 5;

impl Answer<'_> {
    fn push(&mut self, mut data: Bytes) -> Result<()> {
        if self.arriving.is_none() {
            let n = data.len().min(PREFIX - self.prefix.len());
            self.prefix.extend_from_slice(&data.split_to(n));
            if self.prefix.len() < PREFIX {
                return Ok(());
            }
            let (compressed, length) = (self.prefix.get_u8() != 0, self.prefix.get_u32() as usize);
            if compressed || length > i32::MAX as usize {
                return Err(self.nonsense());
            }
            self.arriving = Some(Arriving::new(length, self.path));
        }
        match self.arriving.as_mut().map(|a| a.push(&data)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(e)) => Err(e),
            _ => Err(self.nonsense()),
        }
    }

    fn finish(self) -> Result<Arrived> {
        match self.arriving {
            Some(arriving) if arriving.is_whole() => Ok(arriving.finish()),
            _ => Err(self.nonsense()),
        }
    }

    fn nonsense(&self) -> Error {
        internal(format!("{} answered with something that is not a gRPC message", self.address))
    }
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
}
