//! The byte stream under a connection: TCP or TLS.

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
    /// Without Nagle's algorithm: messages are small.
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

#[cfg(test)]
mod tests {
    use super::super::testing::{pair, tcp};
    use super::*;
    use crate::net::tls::TlsFiles;
    use rcgen::{CertificateParams, KeyPair};
    use std::task::Waker;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::rustls::pki_types::ServerName;

    /// Both ends of a connection with TLS.
    async fn tls() -> (Socket, Socket) {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(["localhost".to_string()]).unwrap().self_signed(&key).unwrap();
        let folder = std::env::temp_dir().join(format!("thalweg-socket-{}-{:p}", std::process::id(), &key));
        std::fs::create_dir_all(&folder).unwrap();
        let (shown, secret) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&shown, cert.pem()).unwrap();
        std::fs::write(&secret, key.serialize_pem()).unwrap();
        let files = TlsFiles { cert: Some(shown.clone()), key: Some(secret), ca: None };
        let acceptor = files.acceptor().unwrap();
        let connector = TlsFiles { ca: Some(shown), ..Default::default() }.connector().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let (ours, theirs) = tcp().await;
        let name = ServerName::try_from("localhost").unwrap();
        let (ours, theirs) = tokio::join!(connector.connect(name, ours), acceptor.accept(theirs));
        (Box::new(ours.unwrap()).into(), Box::new(theirs.unwrap()).into())
    }

    fn nodelay(socket: &Socket) -> bool {
        match socket {
            Socket::Plain(tcp) => tcp.nodelay().unwrap(),
            Socket::Tls { stream, .. } => stream.get_ref().0.nodelay().unwrap(),
        }
    }

    #[tokio::test]
    async fn small_messages_do_not_wait_for_more() {
        for socket in [pair().await.0, tls().await.0] {
            assert!(!nodelay(&socket));
            socket.set_nodelay().unwrap();
            assert!(nodelay(&socket));
        }
    }

    #[tokio::test]
    async fn bytes_arrive_as_they_were_written_and_then_their_end() {
        let (plain, peer) = pair().await;
        for (mut ours, mut theirs) in [(plain, peer.into()), tls().await] {
            ours.write_all(b"one ").await.unwrap();
            let two = [IoSlice::new(b"two "), IoSlice::new(b"three")];
            let n = std::future::poll_fn(|cx| Pin::new(&mut ours).poll_write_vectored(cx, &two)).await;
            assert_eq!(n.unwrap(), 9);
            ours.flush().await.unwrap();
            let mut got = [0; 13];
            theirs.read_exact(&mut got).await.unwrap();
            assert_eq!(&got, b"one two three");
            // A half-close: ours can still read.
            ours.shutdown().await.unwrap();
            assert_eq!(theirs.read(&mut got).await.unwrap(), 0);
            theirs.write_all(b"late").await.unwrap();
            theirs.flush().await.unwrap();
            assert_eq!(ours.read(&mut got).await.unwrap(), 4);
        }
    }

    #[tokio::test]
    async fn records_that_tcp_has_not_taken_count_as_unwritten() {
        let (mut ours, mut theirs) = tls().await;
        let mut cx = Context::from_waker(Waker::noop());
        let pieces = [IoSlice::new(&[7; 100])];
        for vectored in [false, true] {
            assert!(ours.is_flushed());
            let written = match vectored {
                false => Pin::new(&mut ours).poll_write(&mut cx, &[7; 100]),
                true => Pin::new(&mut ours).poll_write_vectored(&mut cx, &pieces),
            };
            assert!(written.is_ready() && !ours.is_flushed());
            assert!(Pin::new(&mut ours).poll_flush(&mut cx).is_ready());
        }
        // The peer does not read: records stay in the session.
        while Pin::new(&mut ours).poll_write(&mut cx, &[7; 10_000]).is_ready() {}
        assert!(Pin::new(&mut ours).poll_flush(&mut cx).is_pending() && !ours.is_flushed());
        let drain = async { while theirs.read(&mut [0; 10_000]).await.unwrap() > 0 {} };
        tokio::select! {
            flushed = ours.flush() => flushed.unwrap(),
            () = drain => unreachable!("ours is open"),
        }
        assert!(ours.is_flushed());
        assert!(pair().await.0.is_flushed());
    }
}
