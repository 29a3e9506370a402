//! Encodes the message of a response, in pieces so that large tensors are not copied.

use crate::wire::Status;
use bytes::{BufMut, Bytes, BytesMut};
use std::collections::VecDeque;
use thalweg_core::error::Code;
use thalweg_proto::{
    Message, NamedTensorProto, RecvTensorResponse, RunGraphResponse, RunStepResponse, TensorProto,
};

/// The message of a response.
#[derive(Default)]
pub struct Reply {
    pub pieces: VecDeque<Bytes>,
}

impl Reply {
    /// A message that is encoded in one piece.
    pub fn of<M: Message>(message: &M, limit: usize) -> Result<Reply, Status> {
        check_length(message.encoded_len(), limit)?;
        let mut out = Pieces::default();
        out.message(message);
        Ok(out.reply())
    }

    /// A RunStepResponse; large tensors are not copied.
    pub fn of_step(response: RunStepResponse, limit: usize) -> Result<Reply, Status> {
        let reply = large_run_step(response);
        check_length(reply.len(), limit)?;
        Ok(reply)
    }

    /// A RunGraphResponse; large tensors are not copied.
    pub fn of_graph(response: RunGraphResponse, limit: usize) -> Result<Reply, Status> {
        let reply = large_run_graph(response);
        check_length(reply.len(), limit)?;
        Ok(reply)
    }

    /// A RecvTensorResponse; the tensor is not copied.
    pub fn of_tensor(response: RecvTensorResponse, limit: usize) -> Result<Reply, Status> {
        let reply = large_tensor(response);
        check_length(reply.len(), limit)?;
        Ok(reply)
    }

    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

fn check_length(length: usize, limit: usize) -> Result<(), Status> {
    match length <= limit {
        true => Ok(()),
        false => Err(Status::new(
            Code::ResourceExhausted,
            format!("the answer has {length} bytes, and a message can have {limit}: fetch less at a time"),
        )),
    }
}

/// Contents from this size on are not copied.
const LARGE: usize = 16 << 10;

/// Tags of fields encoded by hand: field number and wire type LEN.
const RESPONSE_TENSOR: u8 = 1 << 3 | 2;
const NAMED_TENSOR: u8 = 2 << 3 | 2;
const TENSOR_CONTENT: u8 = 4 << 3 | 2;

/// A response whose large tensors are not copied.
fn large_run_step(mut response: RunStepResponse) -> Reply {
    let mut out = Pieces::default();
    for named in std::mem::take(&mut response.tensor) {
        out.tensor(named);
    }
    // Fields may be in any order.
    out.message(&response);
    out.reply()
}

/// As `large_run_step`: the same field number.
fn large_run_graph(mut response: RunGraphResponse) -> Reply {
    let mut out = Pieces::default();
    for named in std::mem::take(&mut response.recv) {
        out.tensor(named);
    }
    out.message(&response);
    out.reply()
}

/// A response whose tensor is not copied.
fn large_tensor(mut response: RecvTensorResponse) -> Reply {
    let mut out = Pieces::default();
    if let Some(tensor) = response.tensor.take() {
        out.tensor_field(RESPONSE_TENSOR, tensor);
    }
    out.message(&response);
    out.reply()
}

#[derive(Default)]
struct Pieces {
    done: VecDeque<Bytes>,
    current: BytesMut,
}

impl Pieces {
    fn message(&mut self, message: &impl Message) {
        self.current.reserve(message.encoded_len());
        // Fails only without capacity; it is reserved.
        let _ = message.encode(&mut self.current);
    }

    fn tensor(&mut self, mut named: NamedTensorProto) {
        let tensor = named.tensor.take().unwrap_or_default();
        self.start_field(RESPONSE_TENSOR, named.encoded_len() + field_len(tensor.encoded_len()));
        self.message(&named);
        self.tensor_field(NAMED_TENSOR, tensor);
    }

    fn tensor_field(&mut self, tag: u8, mut tensor: TensorProto) {
        self.start_field(tag, tensor.encoded_len());
        let content = std::mem::take(&mut tensor.tensor_content);
        self.message(&tensor);
        if !content.is_empty() {
            self.start_field(TENSOR_CONTENT, content.len());
            self.bytes(content);
        }
    }

    fn start_field(&mut self, tag: u8, len: usize) {
        self.current.put_u8(tag);
        let mut len = len;
        while len >= 0x80 {
            self.current.put_u8(len as u8 | 0x80);
            len >>= 7;
        }
        self.current.put_u8(len as u8);
    }

    fn bytes(&mut self, bytes: Bytes) {
        if bytes.len() < LARGE {
            return self.current.extend_from_slice(&bytes);
        }
        let before = self.current.split().freeze();
        self.done.extend([before, bytes]);
    }

    fn reply(mut self) -> Reply {
        if !self.current.is_empty() {
            self.done.push_back(self.current.split().freeze());
        }
        let length: usize = self.done.iter().map(Bytes::len).sum();
        let mut prefix = BytesMut::with_capacity(5 + self.done.front().map_or(0, Bytes::len));
        prefix.put_u8(0);
        // The limit of messages is lower, and checked before sending.
        prefix.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        if self.done.front().is_some_and(|first| first.len() < LARGE)
            && let Some(first) = self.done.pop_front()
        {
            prefix.extend_from_slice(&first);
        }
        self.done.push_front(prefix.freeze());
        Reply { pieces: self.done }
    }
}

/// Encoded length of a field with a tag of one byte.
fn field_len(len: usize) -> usize {
    1 + (1 + len.checked_ilog2().unwrap_or(0) as usize / 7) + len
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::RunMetadata;

    #[test]
    fn pieces_are_the_message_that_prost_would_write() {
        for content in [0, 1, 127, 128, LARGE - 1, LARGE, 3 << 20] {
            let named = |name: &str| NamedTensorProto {
                name: name.into(),
                tensor: Some(TensorProto {
                    dtype: 4,
                    tensor_content: vec![7; content].into(),
                    float_val: vec![1.5],
                    ..Default::default()
                }),
            };
            let response = RunStepResponse {
                tensor: vec![named("a:0"), named(""), named("c:0")],
                metadata: Some(RunMetadata::default()),
                status_code: 3,
                status_error_message: "text".into(),
            };
            let reply = large_run_step(response.clone());
            let all: Vec<u8> = reply.pieces.iter().flatten().copied().collect();
            assert_eq!(all[0], 0);
            assert_eq!(u32::from_be_bytes(all[1..5].try_into().unwrap()) as usize, all.len() - 5);
            assert_eq!(RunStepResponse::decode(&all[5..]).unwrap(), response);
        }
    }

    fn tensor(content: &Bytes) -> TensorProto {
        TensorProto { dtype: 4, tensor_content: content.clone(), ..Default::default() }
    }

    /// Decodes the pieces, and whether one of them is this content, uncopied.
    fn read<M: Message + Default>(reply: &Reply, content: &Bytes) -> (M, bool) {
        let all: Vec<u8> = reply.pieces.iter().flatten().copied().collect();
        assert_eq!((all.len(), all[0]), (reply.len(), 0));
        assert_eq!(u32::from_be_bytes(all[1..5].try_into().unwrap()) as usize, all.len() - 5);
        let same = reply.pieces.iter().any(|p| std::ptr::eq(p.as_ptr(), content.as_ptr()));
        (M::decode(&all[5..]).unwrap(), same)
    }

    #[test]
    fn large_contents_are_sent_from_where_they_lie_and_small_ones_in_one_piece() {
        for length in [1, LARGE - 1, LARGE, LARGE + 1] {
            let content = Bytes::from(vec![7; length]);
            let named = NamedTensorProto { name: "a:0".into(), tensor: Some(tensor(&content)) };
            let step = RunStepResponse { tensor: vec![named.clone()], ..Default::default() };
            let reply = large_run_step(step.clone());
            assert_eq!(read(&reply, &content), (step, length >= LARGE), "{length}");
            // The bytes before a large content, and the content; or one piece, unless that is large.
            let rest = reply.len() - 5 - length;
            let pieces = if length >= LARGE || length + rest >= LARGE { 2 } else { 1 };
            assert_eq!(reply.pieces.len(), pieces, "{length}");
            let graph = RunGraphResponse { recv: vec![named], ..Default::default() };
            assert_eq!(read(&large_run_graph(graph.clone()), &content), (graph, length >= LARGE), "{length}");
            let sent =
                RecvTensorResponse { tensor: Some(tensor(&content)), is_dead: true, ..Default::default() };
            assert_eq!(read(&large_tensor(sent.clone()), &content), (sent, length >= LARGE), "{length}");
        }
        let dead = RecvTensorResponse { is_dead: true, ..Default::default() };
        let told: RecvTensorResponse = read(&large_tensor(dead.clone()), &Bytes::new()).0;
        assert_eq!(told, dead);
        assert_eq!(large_tensor(RecvTensorResponse::default()).pieces, [&[0; 5][..]]);
    }

    /// The prefix of five bytes does not force a copy of a large message.
    #[test]
    fn a_message_of_one_piece_is_copied_only_if_it_is_small() {
        for (text, pieces) in [(1000, 1), (LARGE - 4, 1), (LARGE - 3, 2)] {
            let mut out = Pieces::default();
            // The text follows a tag and two bytes of length.
            let message = RunStepResponse { status_error_message: "x".repeat(text), ..Default::default() };
            out.message(&message);
            let reply = out.reply();
            assert_eq!((reply.len(), reply.pieces.len()), (5 + 3 + text, pieces), "{text}");
        }
    }

    #[test]
    fn fields_are_as_long_as_is_said_before_them() {
        for (len, coded) in [
            (0, &[0x12, 0][..]),
            (127, &[0x12, 127]),
            (128, &[0x12, 0x80, 1]),
            (16_383, &[0x12, 0xff, 0x7f]),
            (16_384, &[0x12, 0x80, 0x80, 1]),
            (2_097_151, &[0x12, 0xff, 0xff, 0x7f]),
            (2_097_152, &[0x12, 0x80, 0x80, 0x80, 1]),
        ] {
            let mut out = Pieces::default();
            out.start_field(NAMED_TENSOR, len);
            assert_eq!(out.current, coded);
            assert_eq!(field_len(len), coded.len() + len);
        }
    }
}
