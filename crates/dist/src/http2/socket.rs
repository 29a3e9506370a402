//! The stream of bytes under a connection: TCP as it is, or TLS over it.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

pub enum Socket {
    Plain(TcpStream),
    Tls {
        stream: Box<TlsStream<TcpStream>>,
        /// The session may hold records that TCP has not taken.
        unflushed: bool,
    },
}

impl Socket {
    /// Small messages both ways: never wait for more to send.
    pub fn set_nodelay(&self) -> Result<()> {
        match self {
            Socket::Plain(tcp) => tcp.set_nodelay(true),
            Socket::Tls { stream, .. } => stream.get_ref().0.set_nodelay(true),
        }
    }

    /// Whether TCP has taken all that was written.
    pub fn is_flushed(&self) -> bool {
        !matches!(self, Socket::Tls { unflushed: true, .. })
    }
}

impl From<TcpStream> for Socket {
    fn from(tcp: TcpStream) -> Socket {
        Socket::Plain(tcp)
    }
}

impl<S: Into<TlsStream<TcpStream>>> From<Box<S>> for Socket {
    fn from(stream: Box<S>) -> Socket {
        Socket::Tls { stream: Box::new((*stream).into()), unflushed: false }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        place: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        match &mut *self {
            Socket::Plain(tcp) => Pin::new(tcp).poll_read(cx, place),
            Socket::Tls { stream, .. } => Pin::new(stream).poll_read(cx, place),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        match &mut *self {
            Socket::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Socket::Tls { stream, unflushed } => {
                *unflushed = true;
                Pin::new(stream).poll_write(cx, bytes)
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        match &mut *self {
            Socket::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, pieces),
            Socket::Tls { stream, unflushed } => {
                *unflushed = true;
                Pin::new(stream).poll_write_vectored(cx, pieces)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut *self {
            Socket::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Tls { stream, unflushed } => {
                let flushed = Pin::new(stream).poll_flush(cx);
                *unflushed = flushed.is_pending();
                flushed
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut *self {
            Socket::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Tls { stream, .. } => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
