//! One connection, from its first byte to its end.

use crate::grpc;
use crate::peers::Peer;
use crate::server::Phase;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Windows and frames large enough that tensors of some megabytes arrive without waiting for more credit.
const STREAM_WINDOW: u32 = 64 << 20;
const CONNECTION_WINDOW: u32 = 256 << 20;
const FRAME: u32 = 1 << 20;

/// How often a peer that says nothing is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(60);

/// Serves until the peer goes, the server stops, or the peer has kept us waiting for too long.
pub async fn serve(stream: TcpStream, peer: Peer, stopped: watch::Receiver<Phase>) {
    let (log, answers, patience) = (peer.master.log, peer.answers.clone(), peer.limits.patience);
    // Small messages both ways: never wait for more to send. Without it the connection is slow, not wrong.
    let _ = stream.set_nodelay(true);
    let calls = peer.limits.calls;
    let requests = hyper::service::service_fn(move |request| grpc::answer(peer.clone(), request));
    let mut connection = pin!(
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .max_concurrent_streams(calls)
            .keep_alive_interval(Some(PING_EVERY))
            .keep_alive_timeout(patience)
            .serve_connection(TokioIo::new(stream), requests)
    );
    let (mut phase, mut closing) = (stopped.clone(), stopped);
    let mut drain = pin!(phase.wait_for(|phase| *phase > Phase::Serving));
    let mut close = pin!(closing.wait_for(|phase| *phase == Phase::Closing));
    let mut draining = false;
    let opened = Instant::now();
    let mut look = tokio::time::interval(patience.max(MIN_PATIENCE) / 4);
    let ended = std::future::poll_fn(|cx| {
        if !draining && drain.as_mut().poll(cx).is_ready() {
            draining = true;
            connection.as_mut().graceful_shutdown();
        }
        if close.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        while look.poll_tick(cx).is_ready() {
            if answers.overdue() {
                log.info("connection_closed", &[("why", &"its peer does not read its answers")]);
                return Poll::Ready(Ok(()));
            }
            if !answers.has_asked() && opened.elapsed() > patience {
                log.info("connection_closed", &[("why", &"its peer asks for nothing")]);
                return Poll::Ready(Ok(()));
            }
        }
        connection.as_mut().poll(cx)
    });
    if let Err(e) = ended.await {
        log.debug("connection_ended", &[("error", &e)]);
    }
}

/// So that the intervals at which is looked are never zero.
const MIN_PATIENCE: Duration = Duration::from_millis(40);
