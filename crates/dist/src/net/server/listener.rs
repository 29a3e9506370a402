//! Accepts connections and hands each to a thread that serves it.

use super::connection;
use super::peer::Peer;
use super::phase::Phase;
use super::slots::{ConnectionSlot, ConnectionSlots};
use super::turns::Lines;
use crate::auth::Origin;
use crate::log::Log;
use crate::net::http2::Socket;
use crate::net::tls;
use crate::wire::Status;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

/// A connection, its address and its slot.
pub type Accepted = (TcpStream, SocketAddr, ConnectionSlot);

/// Binds an address.
pub fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|e| {
        let taken = e.kind() == std::io::ErrorKind::AddrInUse;
        let e = Error::from(e).context(format_args!("cannot listen on {address}"));
        if taken { e.hint("stop what listens there, or choose another port; 0 picks a free one") } else { e }
    })
}

/// Hands each connection to the next thread.
pub async fn accept(
    listener: TcpListener,
    threads: Vec<mpsc::UnboundedSender<Accepted>>,
    slots: Arc<ConnectionSlots>,
    mut stopped: watch::Receiver<Phase>,
    log: Log,
) {
    let listener =
        match listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener)) {
            Ok(listener) => listener,
            Err(e) => return log.info("cannot_listen", &[("error", &e)]),
        };
    for thread in threads.iter().cycle() {
        let mut stop = pin!(stopped.wait_for(|phase| *phase > Phase::Serving));
        let accepted = std::future::poll_fn(|cx| {
            if stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            listener.poll_accept(cx).map(Some)
        });
        match accepted.await {
            None => return,
            Some(Ok((stream, address))) => match (stream.into_std(), slots.take(address.ip())) {
                (Ok(stream), Some(slot)) => drop(thread.send((stream, address, slot))),
                (Ok(_), None) => {
                    log.info("connection_refused", &[("peer", &address), ("why", &"too many connections")])
                }
                (Err(e), _) => log.info("accept_failed", &[("error", &e)]),
            },
            Some(Err(e)) => {
                // Mostly EMFILE: other files must be closed first.
                log.info("accept_failed", &[("error", &e)]);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The main loop of an io thread.
pub async fn serve(
    peer: impl Fn(Origin) -> Peer + Clone + Send + 'static,
    acceptor: Option<TlsAcceptor>,
    stall_timeout: Duration,
    mut connections: mpsc::UnboundedReceiver<Accepted>,
    stopped: watch::Receiver<Phase>,
) {
    let mut open = tokio::task::JoinSet::new();
    let lines = Lines::new();
    // Ends when the acceptor does.
    while let Some((stream, address, slot)) = connections.recv().await {
        let (peer, acceptor, stopped) = (peer.clone(), acceptor.clone(), stopped.clone());
        let mut places = lines.places(address.ip());
        open.spawn(async move {
            let secured = secured(acceptor, stream, stall_timeout, stopped.clone());
            let secured = places.stranger.each_poll_of(secured).await;
            let origin = |certificate| Origin { address, certificate };
            match secured {
                Ok((socket, certificate)) => {
                    connection::serve(socket, peer(origin(certificate)), slot, places, stopped).await
                }
                Err(e) => {
                    let refused = Status::new(Code::Unauthenticated, format!("no connection: {e}"));
                    let origin = origin(None);
                    peer(origin.clone()).gate.refusals.note(&origin, "unknown", b"", &refused);
                }
            }
        });
        while open.try_join_next().is_some() {}
    }
    while open.join_next().await.is_some() {}
}

/// The TLS handshake, if TLS is on, and the fingerprint of the peer's certificate. The handshake waits for the peer,
/// so it has a timeout, and ends when the server stops.
async fn secured(
    acceptor: Option<TlsAcceptor>,
    stream: TcpStream,
    stall_timeout: Duration,
    mut stopped: watch::Receiver<Phase>,
) -> std::io::Result<(Socket, Option<Arc<str>>)> {
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let Some(acceptor) = acceptor else { return Ok((stream.into(), None)) };
    let (mut stop, mut accepted) = (
        pin!(stopped.wait_for(|phase| *phase > Phase::Serving)),
        pin!(tls::accept(&acceptor, stream, stall_timeout)),
    );
    std::future::poll_fn(|cx| {
        if stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionAborted.into()));
        }
        accepted.as_mut().poll(cx)
    })
    .await
}
