//! What is to be written, and has not been taken by the socket yet.

use super::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

#[derive(Default)]
pub struct Output {
    /// Goes first.
    queue: VecDeque<Bytes>,
    queued: usize,
    /// Frames are written here; large contents go into the queue, after what is here.
    pub small: BytesMut,
    /// Dropped when all is written.
    held: Vec<Held>,
}

/// Something that is to be told, by being dropped, that a message has been written.
pub type Held = Box<dyn Send>;

/// Pieces up to this size are copied: a call with more pieces costs as much.
const COPIED: usize = 8 << 10;
/// Pieces in one call.
const PIECES: usize = 64;

impl Output {
    pub fn len(&self) -> usize {
        self.queued + self.small.len()
    }

    /// Moves the first `n` bytes of these pieces here.
    pub fn take(&mut self, pieces: &mut VecDeque<Bytes>, mut n: usize) {
        while n > 0
            && let Some(first) = pieces.front_mut()
        {
            let piece = first.split_to(n.min(first.len()));
            n -= piece.len();
            if first.is_empty() {
                pieces.pop_front();
            }
            self.push(piece);
        }
    }

    fn push(&mut self, piece: Bytes) {
        if piece.len() <= COPIED {
            return self.small.extend_from_slice(&piece);
        }
        if !self.small.is_empty() {
            let before = self.small.split().freeze();
            self.queued += before.len();
            self.queue.push_back(before);
        }
        self.queued += piece.len();
        self.queue.push_back(piece);
    }

    pub fn hold(&mut self, held: Option<Held>) {
        self.held.extend(held);
    }

    /// Writes until nothing is left, or the socket takes no more.
    pub fn poll_flush(&mut self, socket: &mut Socket, cx: &mut Context) -> Poll<Result<()>> {
        while self.len() > 0 {
            let written = if self.queue.is_empty() {
                ready!(Pin::new(&mut *socket).poll_write(cx, &self.small))?
            } else {
                let mut slices = [IoSlice::new(&[]); PIECES];
                let pieces = self.queue.iter().map(|p| &p[..]).chain([&self.small[..]]);
                let n =
                    slices.iter_mut().zip(pieces).map(|(slice, piece)| *slice = IoSlice::new(piece)).count();
                ready!(Pin::new(&mut *socket).poll_write_vectored(cx, &slices[..n]))?
            };
            if written == 0 {
                return Poll::Ready(Err(Error::from(ErrorKind::WriteZero)));
            }
            self.advance(written);
        }
        self.held.clear();
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(first) = self.queue.front_mut().filter(|_| written > 0) {
            let n = written.min(first.len());
            first.advance(n);
            (self.queued, written) = (self.queued - n, written - n);
            if first.is_empty() {
                self.queue.pop_front();
            }
        }
        if written == self.small.len() {
            self.small.clear();
        } else {
            self.small.advance(written);
        }
    }
}

impl Output {
    /// All of it, as if it had been written: for tests and fuzzers.
    pub fn drained(&mut self) -> Vec<u8> {
        let all = self.queue.iter().map(|p| &p[..]).chain([&self.small[..]]).flatten().copied().collect();
        (self.queue, self.queued, self.small) = Default::default();
        all
    }
}
