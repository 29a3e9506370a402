//! Bytes not yet written to the socket.

use super::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

#[derive(Default)]
pub struct WriteBuffer {
    /// Written before `small`.
    queue: VecDeque<Bytes>,
    queued: usize,
    /// Frames are encoded here; large payloads are queued after it.
    pub small: BytesMut,
    /// Dropped when all is written.
    held: Vec<OnWritten>,
}

/// Dropped when a message has been written.
pub type OnWritten = Box<dyn Send>;

/// Pieces up to this size are copied: another slice in the system call costs as much.
const COPIED: usize = 8 << 10;
/// Per vectored write.
const PIECES: usize = 64;

impl WriteBuffer {
    pub fn len(&self) -> usize {
        self.queued + self.small.len()
    }

    /// Moves the first `n` bytes of `pieces` here.
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

    pub fn hold(&mut self, held: Option<OnWritten>) {
        self.held.extend(held);
    }

    /// Writes until the buffer is empty or the socket is full.
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

impl WriteBuffer {
    /// Drains the buffer without a socket: for tests and fuzzers.
    pub fn drained(&mut self) -> Vec<u8> {
        let all = self.queue.iter().map(|p| &p[..]).chain([&self.small[..]]).flatten().copied().collect();
        (self.queue, self.queued, self.small) = Default::default();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::pair;
    use super::*;
    use std::sync::Arc;
    use std::task::Waker;
    use tokio::io::AsyncReadExt;

    fn piece(n: usize, byte: u8) -> Bytes {
        Bytes::from(vec![byte; n])
    }

    #[test]
    fn the_first_bytes_of_pieces_are_taken_and_the_rest_stays() {
        let mut out = WriteBuffer::default();
        let mut pieces = VecDeque::from([piece(3, 1), piece(4, 2), piece(5, 3)]);
        out.take(&mut pieces, 5);
        assert_eq!((out.len(), pieces.iter().map(Bytes::len).collect::<Vec<_>>()), (5, vec![2, 5]));
        out.take(&mut pieces, 0);
        assert_eq!(out.len(), 5);
        out.take(&mut pieces, 100);
        assert!(pieces.is_empty());
        assert_eq!(out.drained(), [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3]);
        assert_eq!(out.len(), 0);
    }

    #[test]
    fn small_pieces_are_copied_and_large_ones_are_not() {
        let mut out = WriteBuffer::default();
        out.small.extend_from_slice(b"head");
        let (small, large) = (piece(COPIED, 1), piece(COPIED + 1, 2));
        out.take(&mut [small.clone()].into(), COPIED);
        assert_eq!((out.queue.len(), out.small.len(), out.len()), (0, COPIED + 4, COPIED + 4));
        // Bytes in `small` are queued before it.
        out.take(&mut [large.clone()].into(), COPIED + 1);
        assert_eq!((out.queue.len(), out.small.len(), out.len()), (2, 0, 2 * COPIED + 5));
        assert!(std::ptr::eq(out.queue[1].as_ptr(), large.as_ptr()));
        // `small` is empty: no piece.
        out.take(&mut [large.clone()].into(), COPIED + 1);
        assert_eq!((out.queue.len(), out.len()), (3, 3 * COPIED + 6));
        out.small.extend_from_slice(b"tail");
        let want = [b"head", &small[..], &large[..], &large[..], b"tail"].concat();
        assert_eq!(out.drained(), want);
    }

    #[test]
    fn what_was_written_in_part_goes_on_where_it_stopped() {
        let filled = || {
            let mut out = WriteBuffer::default();
            out.small.extend_from_slice(b"abc");
            out.take(&mut [piece(COPIED + 1, b'L')].into(), COPIED + 1);
            out.small.extend_from_slice(b"xyz");
            out
        };
        let all = filled().drained();
        for written in [1, 2, 3, 4, COPIED + 3, COPIED + 4, COPIED + 5, COPIED + 7] {
            let mut out = filled();
            out.advance(written);
            assert_eq!(out.len(), all.len() - written);
            assert_eq!(out.drained(), &all[written..], "after {written}");
        }
    }

    #[tokio::test]
    async fn a_socket_that_takes_little_gets_all_and_is_told_at_the_end() {
        let (mut socket, mut peer) = pair().await;
        let mut out = WriteBuffer::default();
        let mut want = Vec::new();
        // More slices than one write takes, and more bytes than a socket.
        for i in 0..150u8 {
            let n = if i % 3 == 0 { 400_000 } else { 10 * usize::from(i) };
            want.extend(vec![i; n]);
            out.take(&mut [piece(n, i)].into(), n);
        }
        let held = Arc::new(());
        out.hold(Some(Box::new(held.clone())));
        out.hold(None);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(out.poll_flush(&mut socket, &mut cx).is_pending());
        assert!((1..want.len()).contains(&out.len()) && Arc::strong_count(&held) == 2);
        let mut got = vec![0; want.len()];
        let flush = std::future::poll_fn(|cx| out.poll_flush(&mut socket, cx));
        let (flushed, read) = tokio::join!(flush, peer.read_exact(&mut got));
        assert!(flushed.is_ok() && read.is_ok() && got == want);
        assert_eq!((out.len(), Arc::strong_count(&held)), (0, 1));
    }
}
