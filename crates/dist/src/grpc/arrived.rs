//! A message in the pieces in which it arrived.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::{shape_from_proto, tensor_from_proto};
use thalweg_proto::TensorProto;

/// The pieces, to be decoded. Byte strings that lie in several of them, the contents of large tensors, are put together in
/// memory that a tensor can own.
#[derive(Default)]
pub struct Arrived {
    pieces: VecDeque<Bytes>,
    remaining: usize,
    pub contents: Contents,
}

impl Arrived {
    pub fn new(first: Bytes) -> Arrived {
        let mut arrived = Arrived::default();
        arrived.push(first);
        arrived
    }

    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.remaining += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// All of it, in one piece.
    pub fn into_bytes(mut self) -> Bytes {
        match self.pieces.len() {
            0 | 1 => self.pieces.pop_front().unwrap_or_default(),
            _ => self.joined(self.remaining),
        }
    }

    fn joined(&mut self, len: usize) -> Bytes {
        let mut all = BytesMut::with_capacity(len);
        self.taken(len, |piece| all.extend_from_slice(piece));
        all.freeze()
    }

    /// Gives the next `len` bytes piece by piece; each is let go when it is done with.
    fn taken(&mut self, len: usize, mut each: impl FnMut(&[u8])) {
        let mut left = len.min(self.remaining);
        while left > 0 {
            let n = left.min(self.chunk().len());
            each(self.chunk().get(..n).unwrap_or_default());
            self.advance(n);
            left -= n;
        }
    }
}

impl Buf for Arrived {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(front) = self.pieces.front_mut().filter(|_| count > 0) {
            let n = count.min(front.len());
            front.advance(n);
            (self.remaining, count) = (self.remaining - n, count - n);
            if front.is_empty() {
                self.pieces.pop_front();
            }
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        if len < self.chunk().len() {
            self.remaining -= len;
            return self.pieces.front_mut().map(|front| front.split_to(len)).unwrap_or_default();
        }
        let tensor = match len {
            0..LARGE => None,
            // Without memory for a tensor, the error is the decoded tensor's.
            _ => Shape::new(&[len]).and_then(|shape| Tensor::uninit(DataType::Uint8, shape)).ok(),
        };
        let Some(mut tensor) = tensor else { return self.joined(len) };
        let Ok(mut room) = tensor.bytes_mut() else { return self.joined(len) };
        self.taken(len, |piece| {
            let (now, later) = std::mem::take(&mut room).split_at_mut(piece.len());
            now.copy_from_slice(piece);
            room = later;
        });
        self.contents.0.push(tensor.clone());
        Bytes::from_owner(Owned(tensor))
    }
}

/// From this size on, a second copy costs more than looking for the first.
const LARGE: usize = 64 << 10;

struct Owned(Tensor);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        // A tensor of bytes has bytes.
        self.0.bytes().unwrap_or_default()
    }
}

/// Contents of a message's large tensors, as tensors of bytes.
#[derive(Clone, Default)]
pub struct Contents(Vec<Tensor>);

impl Contents {
    /// The tensor of a message, without a copy if its content is here.
    pub fn tensor(&self, message: &TensorProto) -> Result<Tensor> {
        let content = &message.tensor_content;
        let found = self.0.iter().find(|t| t.bytes().is_ok_and(|b| std::ptr::eq(b, &content[..])));
        match (found, DataType::from_wire(message.dtype)) {
            (Some(bytes), Some(dtype)) if dtype.is_plain() => {
                bytes.clone().bytes_as(dtype, shape_from_proto(message.tensor_shape.as_ref())?)
            }
            _ => tensor_from_proto(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_graph::convert::tensor_to_proto;
    use thalweg_proto::{Message, NamedTensorProto, RunStepRequest};

    #[test]
    fn a_message_in_any_pieces_is_the_same_message() {
        let values: Vec<f32> = (0..50_000).map(|i| i as f32).collect();
        let large = Tensor::from_slice(Shape::new(&[100, 500]).unwrap(), &values).unwrap();
        let named = |name: &str, t: &Tensor| NamedTensorProto {
            name: name.into(),
            tensor: Some(tensor_to_proto(t).unwrap()),
        };
        let request = RunStepRequest {
            session_handle: "0123".into(),
            feed: vec![named("a:0", &large), named("b:0", &Tensor::scalar(2.5f32)), named("c:0", &large)],
            fetch: vec!["d:0".into()],
            ..Default::default()
        };
        let wire = Bytes::from(request.encode_to_vec());
        for size in [1, 7, 1000, 199_999, wire.len()] {
            let mut arrived = Arrived::default();
            (0..wire.len())
                .step_by(size)
                .for_each(|at| arrived.push(wire.slice(at..wire.len().min(at + size))));
            let decoded = RunStepRequest::decode(&mut arrived).unwrap();
            assert_eq!((arrived.remaining(), &decoded), (0, &request));
            let expected = if size < wire.len() { 2 } else { 0 };
            assert_eq!(arrived.contents.0.len(), expected, "pieces of {size}");
            for (feed, want) in decoded.feed.iter().zip([&large, &Tensor::scalar(2.5f32), &large]) {
                let got = arrived.contents.tensor(feed.tensor.as_ref().unwrap()).unwrap();
                assert!(got.same_bits(want));
            }
        }
    }

    #[test]
    fn what_is_announced_and_not_there_is_an_error() {
        let mut arrived = Arrived::new(Bytes::from_static(&[0x12, 0xff, 0xff, 0xff, 0x7f, 1, 2]));
        arrived.push(Bytes::from_static(&[3; 9]));
        assert!(RunStepRequest::decode(&mut arrived).is_err());
    }
}
