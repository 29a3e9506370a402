//! `Proxy`: connects clients of this machine without TLS and tokens to a server that requires them.
//!
//! Bytes are forwarded unchanged, except that each header block of the client gets a CONTINUATION frame
//! with the token. The field is a literal without indexing, so HPACK's dynamic tables stay in step:
//! nothing is decoded, no message is buffered, and flow control stays end to end.

use crate::log::Log;
use crate::net::PeerLimits;
use crate::net::credentials::{Credentials, Outgoing};
use crate::net::http2::frame::{self, FrameHeader, HEAD, PREFACE, put_frame_header};
use crate::net::http2::hpack::Encoder;
use bytes::{Bytes, BytesMut};
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

/// A listening proxy; dropping it stops it.
pub struct Proxy {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The server that connections are forwarded to, and the credentials for it.
struct Upstream {
    to: String,
    outgoing: Outgoing,
    /// The token as an HPACK field.
    field: Option<Bytes>,
    log: Log,
}

impl Proxy {
    /// Listens on a loopback address only: whoever connects has the token's rights.
    pub fn start(listen: SocketAddr, to: &str, credentials: &Credentials, log: Log) -> Result<Proxy> {
        if !listen.ip().is_loopback() {
            return Err(invalid!(
                "a proxy listens on a loopback address such as 127.0.0.1, not on {}: whoever connects to it has the rights of its token",
                listen.ip()
            ));
        }
        let (to, outgoing) = credentials.resolve(to)?;
        let field = outgoing.authorization.as_ref().map(|shown| {
            let mut field = BytesMut::new();
            Encoder::default().passing(&mut field, "authorization", shown.as_bytes());
            field.freeze()
        });
        let upstream = Arc::new(Upstream { to, outgoing, field, log });
        let listener = super::server::listener::listen(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("thalweg-proxy".into()).spawn(move || {
            runtime.block_on(async move {
                let mut accepting = pin!(accept(listener, upstream));
                let mut stopped = pin!(stopped);
                std::future::poll_fn(|cx| match stopped.as_mut().poll(cx) {
                    Poll::Ready(_) => Poll::Ready(()),
                    Poll::Pending => accepting.as_mut().poll(cx),
                })
                .await;
            });
            runtime.shutdown_background();
        })?;
        Ok(Proxy { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The listening address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been reported.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, upstream: Arc<Upstream>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(e) => return upstream.log.warn("cannot_listen", &[("error", &e)]),
    };
    let places = Arc::new(Semaphore::new(PeerLimits::default().connections));
    loop {
        match (listener.accept().await, places.clone().try_acquire_owned()) {
            (Ok((client, peer)), Ok(place)) => {
                let upstream = upstream.clone();
                tokio::spawn(async move {
                    if let Err(e) = forward(client, &upstream).await {
                        upstream
                            .log
                            .warn("not_forwarded", &[("peer", &peer), ("to", &upstream.to), ("error", &e)]);
                    }
                    drop(place);
                });
            }
            (Ok((_, peer)), Err(_)) => {
                upstream.log.warn("refused", &[("peer", &peer), ("why", &"too many connections")]);
            }
            (Err(e), _) => {
                // Mostly EMFILE: other files must be closed first.
                upstream.log.warn("accept_failed", &[("error", &e)]);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Forwards one connection until either end closes.
async fn forward(client: TcpStream, upstream: &Upstream) -> Result<()> {
    client.set_nodelay(true)?;
    let server = upstream.outgoing.dial(&upstream.to).await?;
    let (from_server, to_server) = tokio::io::split(server);
    let (from_client, to_client) = client.into_split();
    let added = upstream.field.clone().map(HeaderInjector::new);
    let (mut there, mut back) =
        (pin!(copy(from_client, to_server, added)), pin!(copy(from_server, to_client, None)));
    std::future::poll_fn(|cx| match there.as_mut().poll(cx) {
        Poll::Ready(ended) => Poll::Ready(ended),
        Poll::Pending => back.as_mut().poll(cx),
    })
    .await
    .map_err(Error::from)
}

const BUFFER: usize = 128 << 10;

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut injector: Option<HeaderInjector>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut out = BytesMut::new();
    loop {
        let n = from.read(&mut buffer).await?;
        let read = buffer.get(..n).unwrap_or_default();
        if read.is_empty() {
            return to.shutdown().await;
        }
        match &mut injector {
            None => to.write_all(read).await?,
            Some(injector) => {
                out.clear();
                injector.push(read, &mut out);
                to.write_all(&out).await?;
            }
        }
        to.flush().await?;
    }
}

/// Adds a field to each header block.
struct HeaderInjector {
    field: Bytes,
    at: ParserState,
}

/// The state of the parser: what comes next.
enum ParserState {
    /// Bytes left of the preface.
    Preface(usize),
    Head([u8; HEAD], usize),
    /// Bytes left of a payload; the stream whose header block ends with it, if any.
    Payload(usize, Option<u32>),
}

const NEXT: ParserState = ParserState::Head([0; HEAD], 0);

impl HeaderInjector {
    fn new(field: Bytes) -> HeaderInjector {
        HeaderInjector { field, at: ParserState::Preface(PREFACE.len()) }
    }

    /// Writes these bytes with the field added.
    fn push(&mut self, mut bytes: &[u8], out: &mut BytesMut) {
        while !bytes.is_empty() {
            match &mut self.at {
                ParserState::Preface(left) => {
                    *left -= copy_through(&mut bytes, *left, out);
                    if *left == 0 {
                        self.at = NEXT;
                    }
                }
                ParserState::Head(head, have) => {
                    for (place, byte) in head.iter_mut().skip(*have).zip(bytes) {
                        *place = *byte;
                    }
                    let taken = bytes.len().min(HEAD - *have);
                    (bytes, *have) = (&bytes[taken..], *have + taken);
                    if *have == HEAD {
                        let head = FrameHeader::parse(head);
                        self.head(head, out);
                    }
                }
                ParserState::Payload(left, ends) => {
                    *left -= copy_through(&mut bytes, *left, out);
                    if *left == 0 {
                        let ends = ends.take();
                        self.payload_ended(ends, out);
                    }
                }
            }
        }
    }

    fn head(&mut self, head: FrameHeader, out: &mut BytesMut) {
        let of_headers = matches!(head.kind, frame::HEADERS | frame::CONTINUATION);
        let ends = (of_headers && head.has(frame::END_HEADERS)).then_some(head.stream);
        let flags = if ends.is_some() { head.flags & !frame::END_HEADERS } else { head.flags };
        put_frame_header(out, head.length, head.kind, flags, head.stream);
        if head.length == 0 {
            self.payload_ended(ends, out)
        } else {
            self.at = ParserState::Payload(head.length, ends)
        }
    }

    fn payload_ended(&mut self, ends: Option<u32>, out: &mut BytesMut) {
        if let Some(stream) = ends {
            put_frame_header(out, self.field.len(), frame::CONTINUATION, frame::END_HEADERS, stream);
            out.extend_from_slice(&self.field);
        }
        self.at = NEXT;
    }
}

/// Copies at most `most` bytes; returns how many.
fn copy_through(bytes: &mut &[u8], most: usize, out: &mut BytesMut) -> usize {
    let (now, later) = bytes.split_at(most.min(bytes.len()));
    out.extend_from_slice(now);
    *bytes = later;
    now.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_of(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::new();
        put_frame_header(&mut out, payload.len(), kind, flags, stream);
        out.extend_from_slice(payload);
        out.to_vec()
    }

    #[test]
    fn each_block_of_headers_gets_the_field_however_its_bytes_come() {
        let (end, more) = (frame::END_HEADERS, frame::CONTINUATION);
        let (settings, data) = (frame_of(frame::SETTINGS, 0, 0, b""), frame_of(frame::DATA, 1, 1, b"data"));
        let sent = [
            PREFACE.to_vec(),
            settings.clone(),
            frame_of(frame::HEADERS, end, 1, b"one"),
            data.clone(),
            frame_of(frame::HEADERS, frame::END_STREAM, 3, b"two"),
            frame_of(more, 0, 3, b"two, too"),
            frame_of(more, end, 3, b""),
        ];
        let want = [
            PREFACE.to_vec(),
            settings,
            frame_of(frame::HEADERS, 0, 1, b"one"),
            frame_of(more, end, 1, b"token"),
            data,
            frame_of(frame::HEADERS, frame::END_STREAM, 3, b"two"),
            frame_of(more, 0, 3, b"two, too"),
            frame_of(more, 0, 3, b""),
            frame_of(more, end, 3, b"token"),
        ];
        let sent = sent.concat();
        for size in 1..=sent.len() {
            let mut injector = HeaderInjector::new(Bytes::from_static(b"token"));
            let mut out = BytesMut::new();
            sent.chunks(size).for_each(|piece| injector.push(piece, &mut out));
            assert_eq!(out, want.concat()[..], "in pieces of {size}");
        }
    }

    #[test]
    fn a_proxy_does_not_lend_its_token_to_the_network() {
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        assert!(
            Proxy::start(everywhere, "grpc://127.0.0.1:1", &Credentials::default(), Log::default()).is_err()
        );
    }

    #[test]
    fn a_proxy_that_is_dropped_listens_no_more() {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let proxy =
            Proxy::start(here, "grpc://127.0.0.1:1", &Credentials::default(), Log::default()).unwrap();
        let address = proxy.address();
        assert!(std::net::TcpStream::connect(address).is_ok());
        drop(proxy);
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
