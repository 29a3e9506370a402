//! An upper bound of the memory that decoding a message allocates, computed without decoding it.
//!
//! prost allocates infallibly: a failed allocation aborts the process. And it allocates many times the bytes that it reads: two bytes
//! can be a `NodeDef`, four a map node of eleven `AttrValue`s. So the encoding is walked first, by the same rules, and the allocations
//! are summed. Callers reserve that much before they decode.

use crate::Pieces;
use crate::schema::{self, Field, Kind, MessageType};
use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use std::collections::vec_deque;

/// An upper bound of the bytes allocated while these bytes are decoded as an `M`, valid or not. A block that grows is counted at its
/// final capacity.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub fn max_decoded_size<M: prost::Name>(bytes: &Pieces) -> usize {
    let mut walk = SizeWalk { at: bytes.walk(), bytes: OVERHEAD };
    // prost stops at malformed bytes too.
    let _ = walk.message(schema::of::<M>());
    walk.bytes
}

/// For errors, and for the reference count that the first slice of a block allocates.
const OVERHEAD: usize = 1024;

/// prost's recursion limit is 100.
const MAX_DEPTH: usize = 101;

/// The capacity of a `BTreeMap` node, and the least entries of a node after a split.
const NODE_CAPACITY: usize = 11;
const MIN_AFTER_SPLIT: usize = 4;

struct SizeWalk<'a> {
    at: Cursor<'a>,
    bytes: usize,
}

/// A message that is being walked.
struct Frame {
    of: &'static MessageType,
    /// The remaining bytes at its end.
    end: usize,
    /// The fields seen so far, as bits by index.
    seen: u64,
}

impl SizeWalk<'_> {
    /// None where prost would fail.
    fn message(&mut self, of: &'static MessageType) -> Option<()> {
        let mut open = vec![Frame { of, end: 0, seen: 0 }];
        while let Some(frame) = open.last_mut() {
            // A field may be longer than its message, which prost detects only after it.
            if self.at.remaining() <= frame.end {
                (self.at.remaining() == frame.end).then_some(())?;
                open.pop();
                continue;
            }
            if let Some(inner) = self.field(frame)? {
                (open.len() < MAX_DEPTH).then_some(())?;
                open.push(inner);
            }
        }
        Some(())
    }

    /// Walks a field; returns a new frame for a message field.
    fn field(&mut self, frame: &mut Frame) -> Option<Option<Frame>> {
        let (number, wire) = decode_key(&mut self.at).ok()?;
        let Some((index, field)) = frame.of.field(number) else {
            skip_field(wire, number, &mut self.at, DecodeContext::default()).ok()?;
            return Some(None);
        };
        let first = frame.seen & (1 << index) == 0;
        frame.seen |= 1 << index;
        match field.kind {
            Kind::Message(_) => return self.inner(field, wire, first).map(Some),
            Kind::String | Kind::Bytes => self.text(field, wire, first)?,
            _ => self.numbers(field, wire, first)?,
        }
        Some(None)
    }

    fn inner(&mut self, field: &Field, wire: WireType, first: bool) -> Option<Frame> {
        let of = field.message()?;
        // prost does not check the wire type of map entries.
        let len = self.length(if of.map_entry { WireType::LengthDelimited } else { wire })?;
        match field.repeated {
            true if of.map_entry => self.take(map_entry(of, first)),
            true => self.items(1, of.size, first),
            // Inline in the message, or boxed.
            false => self.take(of.size),
        }
        Some(Frame { of, end: self.at.remaining().checked_sub(len)?, seen: 0 })
    }

    fn text(&mut self, field: &Field, wire: WireType, first: bool) -> Option<()> {
        let len = self.length(wire)?;
        if field.repeated {
            self.items(1, field.kind.size(), first);
        }
        match field.kind {
            // Bytes within one segment are shared.
            Kind::Bytes if len <= self.at.segment() => {}
            Kind::Bytes => self.take(len),
            // A repeated occurrence of a singular string grows it, by doubling.
            _ if first || field.repeated => self.take(len.max(8)),
            _ => self.take(len.saturating_mul(3)),
        }
        self.at.advance(len);
        Some(())
    }

    fn numbers(&mut self, field: &Field, wire: WireType, first: bool) -> Option<()> {
        let size = field.kind.size();
        if !field.repeated || wire != WireType::LengthDelimited {
            if field.repeated {
                self.items(1, size, first);
            }
            return skip_field(wire, field.number, &mut self.at, DecodeContext::default()).ok();
        }
        let len = self.length(wire)?;
        let count = match field.kind.wire_type() {
            schema::WireType::Fixed32 => len / 4,
            schema::WireType::Fixed64 => len / 8,
            _ => self.at.clone().varints(len),
        };
        // The last may be truncated, and is pushed before prost detects it.
        self.items(count.saturating_add(1), size, first);
        self.at.advance(len);
        Some(())
    }

    fn length(&mut self, wire: WireType) -> Option<usize> {
        let len = (wire == WireType::LengthDelimited).then(|| decode_varint(&mut self.at).ok())??;
        usize::try_from(len).ok().filter(|len| *len <= self.at.remaining())
    }

    /// Items pushed to a vector: the first capacity is four (eight, of bytes), and doubles.
    fn items(&mut self, count: usize, size: usize, first: bool) {
        let begins = match (first, size) {
            (false, _) => 0,
            (true, 1) => 6,
            (true, _) => 2,
        };
        self.take(count.saturating_mul(2).saturating_add(begins).saturating_mul(size));
    }

    fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The first entry of a map allocates a node; full nodes are split, and have parent nodes.
fn map_entry(of: &MessageType, first: bool) -> usize {
    let entry = of.fields.iter().map(|f| f.kind.size().next_multiple_of(8)).sum::<usize>();
    let pointers = (NODE_CAPACITY + 3) * size_of::<usize>();
    let node = NODE_CAPACITY * entry + pointers;
    if first { node } else { node / MIN_AFTER_SPLIT }
}

/// A read position in a message's bytes.
#[derive(Clone)]
struct Cursor<'a> {
    chunk: &'a [u8],
    rest: vec_deque::Iter<'a, Bytes>,
    remaining: usize,
}

impl Pieces {
    fn walk(&self) -> Cursor<'_> {
        let (front, rest) = self.parts();
        Cursor { chunk: front, rest: rest.iter(), remaining: self.remaining() }
    }
}

impl Cursor<'_> {
    /// Bytes left in the current segment.
    fn segment(&self) -> usize {
        self.chunk.len()
    }

    /// The number of varints that end in the next `len` bytes.
    fn varints(mut self, mut len: usize) -> usize {
        let mut count = 0;
        while len > 0 && !self.chunk.is_empty() {
            let n = len.min(self.chunk.len());
            count += self.chunk.iter().take(n).filter(|b| **b < 0x80).count();
            self.advance(n);
            len -= n;
        }
        count
    }
}

impl Buf for Cursor<'_> {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.chunk
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 && !self.chunk.is_empty() {
            let n = count.min(self.chunk.len());
            self.chunk = self.chunk.get(n..).unwrap_or_default();
            (self.remaining, count) = (self.remaining.saturating_sub(n), count - n);
            if self.chunk.is_empty() {
                self.chunk = self.rest.next().map_or(&[], |piece| piece);
            }
        }
    }
}
