//! Reads the length-prefixed message of a call.

use super::content_scanner::ContentPath;
use super::partial_message::{PartialMessage, at_once};
use super::received_message::ReceivedMessage;
use bytes::Bytes;
use thalweg_core::error::Error;

/// The prefix: the compressed flag and the length.
const PREFIX: usize = 5;

/// Memory grows with the bytes received, not with the announced length.
pub struct MessageReader {
    path: ContentPath,
    limit: usize,
    prefix: [u8; PREFIX],
    /// Bytes of the prefix so far.
    begun: usize,
    body: Option<Body>,
}

enum Body {
    /// From one piece.
    Whole(Bytes),
    Partial(Box<PartialMessage>),
}

/// Why a message is rejected.
#[derive(Debug)]
pub enum Refusal {
    Compressed,
    /// Its length.
    TooLong(usize),
    /// Bytes after the message.
    TooMuch,
    Failed(Error),
}

impl MessageReader {
    /// With a limit in bytes, and large contents at this path.
    pub fn new(path: ContentPath, limit: usize) -> MessageReader {
        MessageReader { path, limit, prefix: [0; PREFIX], begun: 0, body: None }
    }

    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        if self.body.is_none() {
            let n = bytes.len().min(PREFIX - self.begun);
            let (now, rest) = bytes.split_at(n);
            self.prefix[self.begun..self.begun + n].copy_from_slice(now);
            (self.begun, bytes) = (self.begun + n, rest);
            if self.begun < PREFIX {
                return Ok(());
            }
            let [compressed, length @ ..] = self.prefix;
            let length = u32::from_be_bytes(length) as usize;
            if compressed != 0 {
                return Err(Refusal::Compressed);
            }
            if length > self.limit {
                return Err(Refusal::TooLong(length));
            }
            self.body = Some(match bytes.len() == length {
                true => Body::Whole(Bytes::copy_from_slice(std::mem::take(&mut bytes))),
                false => Body::Partial(Box::new(PartialMessage::new(length, self.path))),
            });
        }
        match &mut self.body {
            Some(Body::Partial(arriving)) => match arriving.push(bytes) {
                Ok(true) => Ok(()),
                Ok(false) => Err(Refusal::TooMuch),
                Err(e) => Err(Refusal::Failed(e)),
            },
            _ if bytes.is_empty() => Ok(()),
            _ => Err(Refusal::TooMuch),
        }
    }

    /// The buffer of a large content, if the next bytes are of one; `filled` then says how many were read.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        match &mut self.body {
            Some(Body::Partial(arriving)) => arriving.room(),
            _ => None,
        }
    }

    pub fn filled(&mut self, bytes: usize) -> Result<(), Refusal> {
        match &mut self.body {
            Some(Body::Partial(arriving)) => arriving.filled(bytes).map_err(Refusal::Failed),
            _ => Ok(()),
        }
    }

    /// Memory of the incomplete message.
    pub fn held(&self) -> usize {
        match &self.body {
            Some(Body::Partial(arriving)) => arriving.held(),
            _ => 0,
        }
    }

    /// The message, if it is complete.
    pub fn finish(self) -> Option<ReceivedMessage> {
        match self.body? {
            Body::Whole(bytes) => Some(at_once(bytes)),
            Body::Partial(arriving) => arriving.is_whole().then(|| arriving.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::grpc::content_scanner::{NO_CONTENT, RECV_TENSOR};
    use bytes::Buf;

    fn framed(message: &[u8]) -> Vec<u8> {
        [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
    }

    #[test]
    fn a_message_in_any_pieces_is_whole_at_its_end_and_not_before() {
        let wire = framed(b"some bytes");
        for size in 1..=wire.len() {
            let mut message = MessageReader::new(NO_CONTENT, 100);
            for piece in wire[..wire.len() - 1].chunks(size) {
                message.push(piece).unwrap();
            }
            message.push(&wire[wire.len() - 1..]).unwrap();
            message.push(&[]).unwrap();
            let mut arrived = message.finish().unwrap();
            assert_eq!(&arrived.pieces.copy_to_bytes(10)[..], b"some bytes");
            let mut cut = MessageReader::new(NO_CONTENT, 100);
            cut.push(&wire[..size - 1]).unwrap();
            assert!(cut.finish().is_none());
        }
        let mut empty = MessageReader::new(NO_CONTENT, 100);
        empty.push(&framed(b"")).unwrap();
        assert_eq!(empty.finish().unwrap().len(), 0);
    }

    #[test]
    fn what_is_not_one_message_is_refused() {
        let push = |bytes: &[u8]| MessageReader::new(NO_CONTENT, 100).push(bytes);
        assert!(matches!(push(&[1, 0, 0, 0, 0]), Err(Refusal::Compressed)));
        assert!(matches!(push(&[0, 0, 0, 0, 101]), Err(Refusal::TooLong(101))));
        assert!(matches!(push(&[0, 0, 0, 0, 1, 7, 7]), Err(Refusal::TooMuch)));
        let mut twice = MessageReader::new(NO_CONTENT, 100);
        twice.push(&framed(b"one")).unwrap();
        assert!(matches!(twice.push(&framed(b"two")), Err(Refusal::TooMuch)));
    }

    #[test]
    fn a_message_may_have_as_many_bytes_as_the_limit() {
        for size in [100, 101] {
            let mut message = MessageReader::new(NO_CONTENT, 100);
            let taken = message.push(&framed(&vec![7; size]));
            assert_eq!(taken.is_ok(), size <= 100, "{size} bytes");
        }
        // The announced length counts.
        let announced = MessageReader::new(NO_CONTENT, 100).push(&[0, 0, 1, 0, 0]);
        assert!(matches!(announced, Err(Refusal::TooLong(65_536))));
    }

    #[test]
    fn large_contents_go_where_they_stay_and_count_as_they_come() {
        const MUCH: usize = 100_000;
        // `tensor { tensor_content: .. }`, and a field after it.
        let content: Vec<u8> = (0..MUCH).map(|i| (i % 251) as u8).collect();
        let before = [0x0a, 0xa4, 0x8d, 0x06, 0x22, 0xa0, 0x8d, 0x06];
        let wire = framed(&[&before[..], &content, &[0x10, 1]].concat());
        let mut message = MessageReader::new(RECV_TENSOR, 1 << 20);
        assert!(message.room().is_none());
        message.push(&wire[..5]).unwrap();
        assert!(message.room().is_none() && message.held() < 100);
        message.push(&wire[5..13]).unwrap();
        assert_eq!(message.room().map(|room| room.len()), Some(MUCH));
        assert!(message.held() < 1000, "{}", message.held());
        // Some are copied, some read directly, in parts.
        message.push(&wire[13..1013]).unwrap();
        for part in [1000..50_000, 50_000..MUCH] {
            let room = message.room().unwrap();
            assert_eq!(room.len(), MUCH - part.start);
            room[..part.len()].copy_from_slice(&content[part.clone()]);
            message.filled(part.len()).unwrap();
            assert!((part.end..part.end + 1000).contains(&message.held()), "{}", message.held());
        }
        assert!(message.room().is_none());
        message.push(&wire[13 + MUCH..]).unwrap();
        let mut arrived = message.finish().unwrap();
        assert_eq!(arrived.len(), wire.len() - 5);
        assert!(arrived.pieces.copy_to_bytes(wire.len() - 5) == wire[5..]);
    }

    #[test]
    fn a_message_that_came_at_once_holds_nothing_more() {
        let mut message = MessageReader::new(NO_CONTENT, 100);
        assert_eq!(message.held(), 0);
        message.push(&framed(b"all")).unwrap();
        assert!(message.held() == 0 && message.room().is_none());
        message.filled(3).unwrap();
        assert_eq!(message.finish().unwrap().len(), 3);
    }
}
