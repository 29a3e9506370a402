//! A message that has arrived, as it is decoded.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::{shape_from_proto, tensor_from_proto};
use thalweg_proto::TensorProto;

/// The bytes of a message. Large contents of tensors are pieces of their own, in memory that a tensor owns.
#[derive(Default)]
pub struct Arrived {
    pieces: VecDeque<Bytes>,
    remaining: usize,
    pub contents: Contents,
}

impl Arrived {
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.remaining += piece.len();
            self.pieces.push_back(piece);
        }
    }

    pub fn push_content(&mut self, tensor: Tensor) {
        self.contents.0.push(tensor.clone());
        self.push(Bytes::from_owner(Owned(tensor)));
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

    /// What lies in one piece is not copied.
    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let len = len.min(self.remaining);
        if len <= self.chunk().len() {
            let taken = self.pieces.front().map(|front| front.slice(..len)).unwrap_or_default();
            self.advance(len);
            return taken;
        }
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            let n = (len - all.len()).min(self.chunk().len());
            all.extend_from_slice(self.chunk().get(..n).unwrap_or_default());
            self.advance(n);
        }
        all.into()
    }
}

/// A tensor of bytes, as its bytes.
struct Owned(Tensor);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
