//! A received message, ready to decode.

use crate::wire::tensors::Contents;
use bytes::{Buf, Bytes};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_io::message::decode_pieces;
use thalweg_proto::{Message, Name, Pieces};

/// The bytes of a message. Large contents of tensors are pieces of their own, in memory that a tensor owns.
#[derive(Default)]
pub struct ReceivedMessage {
    pub(super) pieces: Pieces,
    contents: Contents,
}

impl ReceivedMessage {
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    pub fn push_content(&mut self, tensor: Tensor) {
        self.contents.push(tensor.clone());
        self.push(Bytes::from_owner(Owned(tensor)));
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        self.pieces.remaining()
    }

    /// Decodes the message. One that would exceed the memory budget is rejected.
    pub fn decode<M: Message + Name + Default>(self) -> Result<(M, Contents)> {
        let message = decode_pieces(self.pieces)?;
        Ok((message.map_err(|e| invalid!("not a valid message: {e}"))?, self.contents))
    }
}

/// A tensor as `AsRef<[u8]>`.
struct Owned(Tensor);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::dtype::DataType;
    use thalweg_core::shape::Shape;
    use thalweg_graph::convert::tensor_to_proto;
    use thalweg_proto::TensorProto;

    /// A message whose tensor content was received apart.
    fn arrived(mut message: TensorProto) -> (TensorProto, Contents) {
        let content =
            Tensor::from_slice(Shape::new(&[message.tensor_content.len()]).unwrap(), &message.tensor_content)
                .unwrap();
        let mut arrived = ReceivedMessage::default();
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
        assert!(std::ptr::eq(got.bytes().unwrap(), contents.first().bytes().unwrap()));
        // Without it: a copy.
        let copy = Contents::default().tensor(&message).unwrap();
        assert!(copy.same_bits(&tensor) && !std::ptr::eq(copy.bytes().unwrap(), got.bytes().unwrap()));
    }

    /// The content of strings is lengths, then bytes.
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
