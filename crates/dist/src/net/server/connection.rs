//! Serves one connection.

use super::calls::Calls;
use super::pacing::{MAX_POLL, Pacer};
use super::peer::Peer;
use super::phase::Phase;
use super::slots::ConnectionSlot;
use super::turns::{Places, Turn};
use crate::net::http2::frame::{self, put_goaway};
use crate::net::http2::{KeepAlive, Role, Socket, Transport, budget_is_spent};
use std::pin::pin;
use std::task::Poll;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};

/// Interval of keep-alive.
const PING_EVERY: Duration = Duration::from_secs(60);
/// Keeps the interval of checks above zero.
const MIN_STALL_TIMEOUT: Duration = Duration::from_millis(40);

/// Calls of a closed connection that are cancelled in one turn.
const CANCELLED_AT_ONCE: usize = 16;

/// Serves until the peer closes, the server stops, the peer stalls, or its slot is evicted.
pub async fn serve(
    stream: Socket,
    peer: Peer,
    slot: ConnectionSlot,
    mut places: Places,
    stopped: watch::Receiver<Phase>,
) {
    let (log, answers, limits) = (peer.log, peer.unread.clone(), peer.limits);
    // Failure only adds latency.
    let _ = stream.set_nodelay();
    let stall_timeout = limits.stall_timeout;
    let mut wire = Transport::new(
        stream,
        Role::Server { streams: limits.calls },
        Some(KeepAlive::new(PING_EVERY, stall_timeout)),
    );
    let (finished, mut answered) = mpsc::unbounded_channel();
    let mut calls = Calls::new(peer, finished);
    let (mut phase, mut closing) = (stopped.clone(), stopped);
    let mut drain = pin!(phase.wait_for(|phase| *phase > Phase::Serving));
    let mut close = pin!(closing.wait_for(|phase| *phase == Phase::Closing));
    let mut unwanted = pin!(slot.unwanted());
    let opened = Instant::now();
    let mut pace = Pacer::new();
    let mut look = tokio::time::interval(stall_timeout.max(MIN_STALL_TIMEOUT) / 16);
    let ended = std::future::poll_fn(|cx| {
        if !calls.draining && (drain.as_mut().poll(cx).is_ready() || unwanted.as_mut().poll(cx).is_ready()) {
            calls.draining = true;
            put_goaway(&mut wire.writer.out.small, calls.last, frame::NO_ERROR);
        }
        if close.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        while look.poll_tick(cx).is_ready() {
            if answers.overdue(&limits) {
                log.info("connection_closed", &[("why", &"its peer does not read its answers")]);
                return Poll::Ready(Ok(()));
            }
            if !answers.has_asked() && opened.elapsed() > stall_timeout {
                log.info("connection_closed", &[("why", &"its peer asks for nothing")]);
                return Poll::Ready(Ok(()));
            }
            calls.give_up_unfinished(&mut wire.writer);
        }
        std::task::ready!(pace.poll_ready(cx));
        let mut turn = places.line(&pace);
        if let Some(turn) = &mut turn {
            std::task::ready!(turn.poll(cx));
        }
        let began = Instant::now();
        let worked = loop {
            while let Poll::Ready(Some((stream, answer))) = answered.poll_recv(cx) {
                calls.respond(&mut wire.writer, stream, answer);
            }
            if let Poll::Ready(ended) = wire.poll(cx, &mut calls, true) {
                break Poll::Ready(ended);
            }
            slot.note(calls.is_idle());
            if calls.draining && calls.is_idle() && wire.is_idle() {
                break Poll::Ready(Ok(()));
            }
            if answered.is_empty() || budget_is_spent(cx) {
                break Poll::Pending;
            }
        };
        let cost = pace.polled(began, std::mem::take(&mut calls.earned), calls.waiting(), cx);
        if let Some(turn) = turn {
            turn.end(cost);
        }
        worked
    });
    let ended = ended.await;
    cancel_calls(&mut calls, &mut places.stranger).await;
    if let Err(e) = ended {
        log.debug("connection_ended", &[("error", &e.why)]);
        if e.code != frame::NO_ERROR {
            drop(calls);
            wire.linger().await;
        }
    }
}

impl Places {
    /// Where the connection has to wait before its next poll.
    fn line(&mut self, pace: &Pacer) -> Option<&mut Turn> {
        if !pace.is_known() {
            return Some(&mut self.stranger);
        }
        if pace.is_busy(Instant::now()) {
            return Some(&mut self.busy);
        }
        // It may have calmed down in the line.
        self.busy.give_up();
        None
    }
}

/// Cancels what is still in flight, some at a time: thousands of calls take milliseconds.
async fn cancel_calls(calls: &mut Calls, turn: &mut Turn) {
    while !calls.is_idle() {
        std::future::poll_fn(|cx| turn.poll(cx)).await;
        calls.cancel_some(CANCELLED_AT_ONCE);
        turn.end(MAX_POLL);
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
