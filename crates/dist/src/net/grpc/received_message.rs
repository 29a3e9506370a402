//! A message that has arrived, as it is decoded.

use bytes::{Buf, Bytes};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::{shape_from_proto, tensor_from_proto};
use thalweg_io::message::decode_pieces;
use thalweg_proto::{Message, Name, Pieces, TensorProto};

/// The bytes of a message. Large contents of tensors are pieces of their own, in memory that a tensor owns.
#[derive(Default)]
pub struct Arrived {
    pub(super) pieces: Pieces,
    contents: Contents,
}

impl Arrived {
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    pub fn push_content(&mut self, tensor: Tensor) {
        self.contents.0.push(tensor.clone());
        self.push(Bytes::from_owner(Owned(tensor)));
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        self.pieces.remaining()
    }

    /// The message, with its large contents. One that takes more memory than there is room for is refused.
    pub fn decode<M: Message + Name + Default>(self) -> Result<(M, Contents)> {
        let message = decode_pieces(self.pieces)?;
        Ok((message.map_err(|e| invalid!("not a valid message: {e}"))?, self.contents))
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

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::shape::Shape;
    use thalweg_graph::convert::tensor_to_proto;

    /// A message that arrived with the content of its tensor beside it.
    fn arrived(mut message: TensorProto) -> (TensorProto, Contents) {
        let content =
            Tensor::from_slice(Shape::new(&[message.tensor_content.len()]).unwrap(), &message.tensor_content)
                .unwrap();
        let mut arrived = Arrived::default();
        arrived.push_content(content);
        message.tensor_content = arrived.pieces.copy_to_bytes(arrived.len());
        (message, arrived.contents)
    }

    #[test]
    fn a_tensor_lies_where_its_content_arrived() {
        let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let tensor = Tensor::from_slice(Shape::new(&[10, 100]).unwrap(), &values).unwrap();
        let (message, contents) = arrived(tensor_to_proto(&tensor).unwrap());
        assert_eq!(contents.len(), 1);
        let got = contents.tensor(&message).unwrap();
        assert!(got.same_bits(&tensor));
        assert!(std::ptr::eq(got.bytes().unwrap(), contents.0[0].bytes().unwrap()));
        // Without it, it is a copy.
        let copy = Contents::default().tensor(&message).unwrap();
        assert!(copy.same_bits(&tensor) && !std::ptr::eq(copy.bytes().unwrap(), got.bytes().unwrap()));
    }

    /// They are no elements side by side, but lengths and then texts.
    #[test]
    fn strings_are_taken_out_of_their_content() {
        let message = TensorProto {
            dtype: DataType::String.wire(),
            tensor_content: [&[255, 1][..], &[b'x'; 255]].concat().into(),
            ..Default::default()
        };
        let (message, contents) = arrived(message);
        let got = contents.tensor(&message).unwrap();
        assert!(got.same_bits(&Tensor::string(vec![b'x'; 255])));
    }
}
