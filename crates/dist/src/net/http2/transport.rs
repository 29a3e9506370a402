//! One connection: a socket with its frame reader and writer.

use super::frame::{self, PREFACE, put_goaway, put_settings};
use super::frame_reader::{FrameReader, Handler};
use super::frame_writer::{BACKLOG, FrameWriter};
use super::hpack::MAX_HEADERS;
use super::socket::Socket;
use super::{CONNECTION_WINDOW, ConnectionError, Handled, KeepAlive, MAX_FRAME, STREAM_WINDOW};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub struct Transport {
    socket: Socket,
    reading: FrameReader,
    pub writer: FrameWriter,
    alive: Option<KeepAlive>,
}

/// Which end of a connection this is.
pub enum Role {
    Client,
    Server {
        /// Streams that the peer may have open.
        streams: u32,
    },
}

/// The initial window of RFC 9113, 6.9.2.
const DEFAULT_WINDOW: u32 = 65_535;

/// Whether tokio's cooperative budget is spent: the task has been woken to continue later, and must return. Sockets, channels and
/// timers return Pending from here on, even when ready: a loop that waits for them to be empty would not end.
pub fn budget_is_spent(cx: &mut Context) -> bool {
    let spent = !tokio::task::coop::has_budget_remaining();
    if spent {
        cx.waker().wake_by_ref();
    }
    spent
}

/// The time slice of one poll: other connections share the thread.
const TIME_SLICE: Duration = Duration::from_micros(250);
/// How long, and for how many reads, a connection lingers after GOAWAY.
const LINGER: Duration = Duration::from_millis(200);
const LINGER_READS: usize = 64;

impl Transport {
    pub fn new(socket: Socket, role: Role, alive: Option<KeepAlive>) -> Transport {
        let mut writer = FrameWriter::default();
        let out = &mut writer.out.small;
        let of_role = match role {
            Role::Client => {
                out.extend_from_slice(PREFACE);
                (frame::SET_ENABLE_PUSH, 0)
            }
            Role::Server { streams } => (frame::SET_MAX_STREAMS, streams),
        };
        let settings = [
            of_role,
            (frame::SET_INITIAL_WINDOW, STREAM_WINDOW),
            (frame::SET_MAX_FRAME, MAX_FRAME),
            (frame::SET_MAX_HEADER_LIST, MAX_HEADERS as u32),
        ];
        put_settings(out, &settings);
        writer.send_window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
        Transport { socket, reading: FrameReader::new(matches!(role, Role::Server { .. })), writer, alive }
    }

    /// Reads and writes until both block, or for a time slice; ready when the connection has ended.
    /// `waits`: a call is pending, so that keep-alive applies.
    pub fn poll(&mut self, cx: &mut Context, handler: &mut impl Handler, waits: bool) -> Poll<Handled> {
        let ended = ready!(self.poll_to_end(cx, handler, waits));
        if let Err(fault) = &ended
            && fault.code != frame::NO_ERROR
        {
            // Best effort: the socket may be full.
            put_goaway(&mut self.writer.out.small, handler.last_stream(), fault.code);
            let _ = self.writer.out.poll_flush(&mut self.socket, cx);
        }
        Poll::Ready(ended)
    }

    fn poll_to_end(&mut self, cx: &mut Context, handler: &mut impl Handler, waits: bool) -> Poll<Handled> {
        if let Some(alive) = &mut self.alive {
            alive.poll(cx, waits, &mut self.writer)?;
        }
        let mut since = None;
        loop {
            if let Poll::Ready(flushed) = self.poll_flush(cx) {
                flushed?;
            } else if self.writer.out.len() >= BACKLOG {
                // Back-pressure: a peer that does not read is not read from.
                return Poll::Pending;
            }
            let read = self.reading.poll(&mut self.socket, cx, handler, &mut self.writer);
            match ready!(read)? {
                false => return Poll::Ready(Ok(())),
                true => self.alive.iter_mut().for_each(KeepAlive::heard),
            }
            if since.get_or_insert_with(Instant::now).elapsed() > TIME_SLICE {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// A lingering close, so that GOAWAY arrives: closing a socket with unread bytes sends a TCP reset,
    /// which discards data in flight.
    pub async fn linger(mut self) {
        let last_words = async {
            std::future::poll_fn(|cx| self.writer.out.poll_flush(&mut self.socket, cx)).await?;
            self.socket.shutdown().await?;
            let mut rest = [0; 4096];
            for _ in 0..LINGER_READS {
                if self.socket.read(&mut rest).await? == 0 {
                    break;
                }
            }
            std::io::Result::Ok(())
        };
        // The connection ends even if this fails.
        let _ = tokio::time::timeout(LINGER, last_words).await;
    }

    /// Writes all that flow control allows, or for a time slice: a peer may read as fast as this writes.
    pub fn poll_flush(&mut self, cx: &mut Context) -> Poll<Handled> {
        let mut since = None;
        loop {
            let more = self.writer.write_frames();
            if self.writer.out.len() == 0 && !more {
                return Pin::new(&mut self.socket).poll_flush(cx).map_err(ConnectionError::from);
            }
            ready!(self.writer.out.poll_flush(&mut self.socket, cx))?;
            if since.get_or_insert_with(Instant::now).elapsed() > TIME_SLICE {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Whether all is written.
    pub fn is_idle(&self) -> bool {
        self.writer.is_idle() && self.socket.is_flushed()
    }
}

#[cfg(test)]
mod tests;
