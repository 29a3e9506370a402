//! One connection: a socket, what comes in and what goes out.

use super::frame::{self, PREFACE, put_goaway, put_settings};
use super::reading::{Handler, Reading};
use super::sending::{BACKLOG, Sending};
use super::socket::Socket;
use super::{Alive, CONNECTION_WINDOW, Fault, Handled, MAX_FRAME, STREAM_WINDOW};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

pub struct Wire {
    socket: Socket,
    reading: Reading,
    pub sending: Sending,
    alive: Option<Alive>,
}

/// Which end of a connection this is.
pub enum Role {
    Client,
    Server {
        /// Streams that the peer may have open.
        streams: u32,
    },
}

/// What a peer has before it is told otherwise.
const DEFAULT_WINDOW: u32 = 65_535;
/// Bytes of the header fields of one message.
const MAX_HEADERS: u32 = 16 << 10;

impl Wire {
    pub fn new(socket: Socket, role: Role, alive: Option<Alive>) -> Wire {
        let mut sending = Sending::default();
        let out = &mut sending.out.small;
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
            (frame::SET_MAX_HEADER_LIST, MAX_HEADERS),
        ];
        put_settings(out, &settings);
        sending.give_credit(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
        Wire { socket, reading: Reading::new(matches!(role, Role::Server { .. })), sending, alive }
    }

    /// Reads and writes until there is nothing to do but wait; ready when the peer has gone, or must go. `waits`: something is
    /// expected of the peer.
    pub fn poll(&mut self, cx: &mut Context, handler: &mut impl Handler, waits: bool) -> Poll<Handled> {
        let ended = ready!(self.poll_to_end(cx, handler, waits));
        if let Err(fault) = &ended
            && fault.code != frame::NO_ERROR
        {
            // As a last word; the socket takes it or not.
            put_goaway(&mut self.sending.out.small, 0, fault.code);
            let _ = self.sending.out.poll_flush(&mut self.socket, cx);
        }
        Poll::Ready(ended)
    }

    fn poll_to_end(&mut self, cx: &mut Context, handler: &mut impl Handler, waits: bool) -> Poll<Handled> {
        if let Some(alive) = &mut self.alive {
            alive.poll(cx, waits, &mut self.sending)?;
        }
        loop {
            if let Poll::Ready(flushed) = self.poll_flush(cx) {
                flushed?;
            } else if self.sending.out.len() >= BACKLOG {
                // Who does not read is not read from.
                return Poll::Pending;
            }
            let read = self.reading.poll(&mut self.socket, cx, handler, &mut self.sending);
            match ready!(read)? {
                0 => return Poll::Ready(Ok(())),
                _ => self.alive.iter_mut().for_each(Alive::heard),
            }
        }
    }

    /// Writes until nothing is left that may be written.
    pub fn poll_flush(&mut self, cx: &mut Context) -> Poll<Handled> {
        loop {
            self.sending.pump();
            if self.sending.out.len() == 0 {
                return Pin::new(&mut self.socket).poll_flush(cx).map_err(Fault::from);
            }
            ready!(self.sending.out.poll_flush(&mut self.socket, cx))?;
        }
    }

    /// Whether all has been written.
    pub fn is_idle(&self) -> bool {
        self.sending.is_idle() && self.socket.is_flushed()
    }
}
