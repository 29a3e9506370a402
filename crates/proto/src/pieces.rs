//! A message's bytes in several segments, as a `Buf`.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// The source of all decoding, of one segment or many: with several source types, prost's code would be instantiated for each.
#[derive(Default)]
pub struct Pieces {
    front: Bytes,
    rest: VecDeque<Bytes>,
    remaining: usize,
}

impl Pieces {
    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.remaining += piece.len();
        if self.front.is_empty() {
            self.front = piece;
        } else {
            self.rest.push_back(piece);
        }
    }

    /// The current segment, and those after it.
    pub(crate) fn parts(&self) -> (&Bytes, &VecDeque<Bytes>) {
        (&self.front, &self.rest)
    }
}

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        Pieces { remaining: bytes.len(), front: bytes, ..Default::default() }
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        &self.front
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 && !self.front.is_empty() {
            let n = count.min(self.front.len());
            self.front.advance(n);
            (self.remaining, count) = (self.remaining - n, count - n);
            if self.front.is_empty() {
                self.front = self.rest.pop_front().unwrap_or_default();
            }
        }
    }

    /// Bytes within one segment are shared, not copied.
    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let len = len.min(self.remaining);
        if len <= self.front.len() {
            let taken = self.front.slice(..len);
            self.advance(len);
            return taken;
        }
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            let n = (len - all.len()).min(self.front.len());
            all.extend_from_slice(self.front.get(..n).unwrap_or_default());
            self.advance(n);
        }
        all.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_as_one() {
        let mut pieces = Pieces::default();
        for piece in [&b"ab"[..], b"", b"cde", b"f"] {
            pieces.push(Bytes::from_static(piece));
        }
        assert_eq!((pieces.remaining(), pieces.chunk()), (6, &b"ab"[..]));
        pieces.advance(1);
        assert_eq!(&pieces.copy_to_bytes(3)[..], b"bcd");
        assert_eq!(&pieces.copy_to_bytes(1)[..], b"e");
        assert_eq!(&pieces.copy_to_bytes(9)[..], b"f");
        assert_eq!((pieces.remaining(), pieces.chunk()), (0, &b""[..]));
    }
}
