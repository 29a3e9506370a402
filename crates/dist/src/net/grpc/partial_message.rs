//! A message being received: large tensor contents are read into their tensors.

use super::content_scanner::{ContentPath, ContentScanner};
use super::received_message::ReceivedMessage;
use bytes::{Bytes, BytesMut};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::memory::Untouched;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// An incomplete message.
pub struct PartialMessage {
    fields: ContentScanner,
    /// Bytes since the last large content.
    rest: BytesMut,
    filling: Option<Filling>,
    arrived: ReceivedMessage,
    /// Bytes of contents received: announced bytes are untouched memory.
    held: usize,
    missing: usize,
}

/// The content being received.
struct Filling {
    tensor: Tensor,
    filled: usize,
    untouched: Untouched,
}

impl PartialMessage {
    /// Expects a message of this length, with large contents at this path.
    pub fn new(length: usize, path: ContentPath) -> PartialMessage {
        PartialMessage {
            fields: ContentScanner::new(length, path),
            rest: BytesMut::new(),
            filling: None,
            arrived: ReceivedMessage::default(),
            held: 0,
            missing: length,
        }
    }

    /// Adds bytes, by copying; false if they exceed the message.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<bool> {
        let Some(missing) = self.missing.checked_sub(bytes.len()) else { return Ok(false) };
        self.missing = missing;
        while !bytes.is_empty() {
            match &mut self.filling {
                Some(filling) => {
                    let n = filling.take(bytes)?;
                    self.held += n;
                    bytes = bytes.get(n..).unwrap_or_default();
                }
                None => {
                    let (n, content) = self.fields.next_content(bytes);
                    let (now, later) = bytes.split_at(n.min(bytes.len()));
                    self.rest.extend_from_slice(now);
                    bytes = later;
                    if let Some(length) = content {
                        self.begin(length)?;
                    }
                }
            }
            self.end_filled();
        }
        Ok(true)
    }

    /// The buffer of the large content that the next bytes are of, if any; `filled` then says how many were read.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        let filling = self.filling.as_mut()?;
        filling.tensor.bytes_mut().ok()?.get_mut(filling.filled..)
    }

    pub fn filled(&mut self, bytes: usize) -> Result<()> {
        let Some(filling) = &mut self.filling else { return Ok(()) };
        filling.advance(bytes)?;
        self.held += bytes;
        self.missing = self.missing.saturating_sub(bytes);
        self.end_filled();
        Ok(())
    }

    fn begin(&mut self, length: usize) -> Result<()> {
        self.arrived.push(self.rest.split().freeze());
        let tensor = Tensor::uninit(DataType::Uint8, Shape::new(&[length])?)?;
        self.filling = Some(Filling { tensor, filled: 0, untouched: Untouched::new(length) });
        Ok(())
    }

    fn end_filled(&mut self) {
        if let Some(filling) = self.filling.take_if(|f| f.filled == f.tensor.elements()) {
            self.arrived.push_content(filling.tensor);
        }
    }

    /// Memory of this message so far.
    pub fn held(&self) -> usize {
        self.held + self.rest.capacity()
    }

    pub fn is_whole(&self) -> bool {
        self.missing == 0
    }

    pub fn finish(mut self) -> ReceivedMessage {
        self.arrived.push(self.rest.freeze());
        self.arrived
    }
}

impl Filling {
    /// Copies until full; returns bytes.
    fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        let room = self.tensor.bytes_mut()?.get_mut(self.filled..).unwrap_or_default();
        let n = room.len().min(bytes.len());
        room[..n].copy_from_slice(&bytes[..n]);
        self.advance(n)?;
        Ok(n)
    }

    fn advance(&mut self, bytes: usize) -> Result<()> {
        self.filled += bytes;
        self.untouched.touch(bytes)
    }
}

/// A message received in one piece.
pub fn at_once(message: Bytes) -> ReceivedMessage {
    let mut arrived = ReceivedMessage::default();
    arrived.push(message);
    arrived
}

#[cfg(test)]
mod tests {
    use super::super::content_scanner::RUN_STEP;
    use super::*;
    use thalweg_graph::convert::tensor_to_proto;
    use thalweg_proto::{Message, NamedTensorProto, RunStepRequest};

    fn request(large: &Tensor) -> RunStepRequest {
        let named = |name: &str, t: &Tensor| NamedTensorProto {
            name: name.into(),
            tensor: Some(tensor_to_proto(t).unwrap()),
        };
        RunStepRequest {
            session_handle: "0123".into(),
            feed: vec![named("a:0", large), named("b:0", &Tensor::scalar(2.5f32)), named("c:0", large)],
            fetch: vec!["d:0".into()],
            ..Default::default()
        }
    }

    fn large() -> Tensor {
        let values: Vec<f32> = (0..50_000).map(|i| i as f32).collect();
        Tensor::from_slice(Shape::new(&[100, 500]).unwrap(), &values).unwrap()
    }

    #[test]
    fn a_message_in_any_pieces_is_the_same_message_and_its_tensors_lie_where_they_arrived() {
        let large = large();
        let request = request(&large);
        let wire = request.encode_to_vec();
        for size in [1, 7, 1000, 199_999, wire.len()] {
            let mut arriving = PartialMessage::new(wire.len(), RUN_STEP);
            for piece in wire.chunks(size) {
                assert!(!arriving.is_whole());
                assert!(arriving.push(piece).unwrap());
            }
            assert!(arriving.is_whole());
            let (decoded, contents) = arriving.finish().decode::<RunStepRequest>().unwrap();
            assert_eq!(decoded, request);
            assert_eq!(contents.len(), 2, "pieces of {size}");
            for (feed, want) in decoded.feed.iter().zip([&large, &Tensor::scalar(2.5f32), &large]) {
                let got = contents.tensor(feed.tensor.as_ref().unwrap()).unwrap();
                assert!(got.same_bits(want));
            }
        }
    }

    #[test]
    fn any_bytes_are_taken_in_and_refused_only_when_decoded() {
        let mut wire = request(&large()).encode_to_vec();
        let mut random = 1u64;
        for _ in 0..300 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Mostly in tags and lengths, at the start.
            let at = (random >> 33) as usize % 60;
            wire[at] = (random >> 24) as u8;
            let mut arriving = PartialMessage::new(wire.len(), RUN_STEP);
            wire.chunks(70_001).for_each(|piece| assert!(arriving.push(piece).unwrap()));
            assert!(arriving.is_whole());
            let arrived = arriving.finish();
            assert_eq!(arrived.len(), wire.len());
            let (ours, whole) = (arrived.decode::<RunStepRequest>(), RunStepRequest::decode(&wire[..]));
            assert_eq!(ours.ok().map(|(message, _)| message), whole.ok());
        }
    }

    #[test]
    fn more_than_was_announced_is_refused() {
        let mut arriving = PartialMessage::new(3, RUN_STEP);
        assert!(arriving.push(&[0x18, 1]).unwrap());
        assert!(!arriving.push(&[0, 0]).unwrap());
    }

    /// Regression: a few bytes that announced gigabytes were charged as tens of megabytes.
    #[test]
    fn what_is_announced_and_not_sent_is_not_charged() {
        let large = large();
        let wire = request(&large).encode_to_vec();
        let mut arriving = PartialMessage::new(wire.len(), RUN_STEP);
        arriving.push(&wire[..100]).unwrap();
        assert!(arriving.held() < 1000, "{}", arriving.held());
        arriving.push(&wire[100..100_000]).unwrap();
        assert!((99_000..110_000).contains(&arriving.held()), "{}", arriving.held());
    }
}
