//! The bytes of a message, in pieces.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// What every message is decoded from, whether its bytes are one piece or many: one kind of source, or all the code of decoding would
/// be compiled for each.
#[derive(Default)]
pub struct Pieces {
    front: Bytes,
    rest: VecDeque<Bytes>,
    remaining: usize,
    guard: Option<Guard>,
    /// The guard has said no: whoever asks is told that nothing is left. What is being read at that moment is there to its end.
    is_stopped: bool,
}

/// Asked now and then while a message is decoded, which may take many times the memory of its bytes.
struct Guard {
    may_go_on: Box<dyn FnMut() -> bool + Send>,
    /// Parts of the message to be read before it is asked.
    left: u32,
}

const ASK_EVERY: u32 = 1024;

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

    /// Decoding goes on while `may_go_on` says so; then the bytes are at their end, and the message is not whole.
    pub fn read_while(&mut self, may_go_on: impl FnMut() -> bool + Send + 'static) {
        self.guard = Some(Guard { may_go_on: Box::new(may_go_on), left: ASK_EVERY });
    }

    fn ask_guard(&mut self) {
        let Some(guard) = &mut self.guard else { return };
        guard.left -= 1;
        if guard.left > 0 {
            return;
        }
        guard.left = ASK_EVERY;
        self.is_stopped |= !(guard.may_go_on)();
    }
}

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        Pieces { remaining: bytes.len(), front: bytes, ..Default::default() }
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        if self.is_stopped { 0 } else { self.remaining }
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
        self.ask_guard();
    }

    /// What lies in one piece is not copied.
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
    fn a_guard_that_says_no_ends_a_message_before_its_end() {
        let node = crate::NodeDef { name: "a name".into(), op: "NoOp".into(), ..Default::default() };
        let graph = crate::GraphDef { node: vec![node; 10_000], ..Default::default() };
        let decode = |may_go_on: fn() -> bool| {
            let mut pieces = Pieces::from(Bytes::from(crate::encode(&graph)));
            pieces.read_while(may_go_on);
            <crate::GraphDef as crate::Message>::decode(pieces)
        };
        assert_eq!(decode(|| true).unwrap(), graph);
        assert!(decode(|| false).is_err());
    }

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
