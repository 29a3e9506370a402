//! How much memory a message takes once it is decoded, found without decoding it.
//!
//! prost allocates as std does: what the allocator refuses ends the process. And it takes many times the bytes that it reads: two bytes
//! can be a `NodeDef`, four a map with room for eleven `AttrValue`s. So the bytes are walked through first, by the same rules, and what
//! they would take is added up. Whoever decodes asks for that much before.

use crate::Pieces;
use crate::schema::{self, Field, Kind, MessageType};
use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use std::collections::vec_deque;

/// At most how many bytes are allocated while these bytes are decoded as an `M`, whether they are one or not. A block that grows is counted
/// as large as it becomes.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub fn room_for<M: prost::Name>(bytes: &Pieces) -> usize {
    let mut walk = Walk { at: bytes.walk(), room: SLACK };
    // Where the bytes are no message, prost stops too.
    let _ = walk.message(schema::of::<M>());
    walk.room
}

/// For errors, and what is shared once: the first slice of a block makes its count.
const SLACK: usize = 1024;

/// prost refuses to go deeper than 100.
const MAX_DEPTH: usize = 101;

/// Entries of a node of a `BTreeMap`, and at least how many it keeps when it is split.
const NODE: usize = 11;
const SPLIT: usize = 4;

struct Walk<'a> {
    at: Cursor<'a>,
    room: usize,
}

/// A message that is being read.
struct Frame {
    of: &'static MessageType,
    /// Bytes that are left when it is at its end.
    end: usize,
    /// The fields that it has been given, as bits by index.
    seen: u64,
}

impl Walk<'_> {
    /// None where prost would fail.
    fn message(&mut self, of: &'static MessageType) -> Option<()> {
        let mut open = vec![Frame { of, end: 0, seen: 0 }];
        while let Some(frame) = open.last_mut() {
            // A part may be longer than what it is a part of, which is found out only after it.
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

    /// Reads a field, or begins with one that is a message.
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
        // Of a map, prost does not look at it.
        let len = self.length(if of.map_entry { WireType::LengthDelimited } else { wire })?;
        match field.repeated {
            true if of.map_entry => self.take(map_entry(of, first)),
            true => self.items(1, of.size, first),
            // Lies in the message, or in a block of its own.
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
            // Bytes share the block that they lie in, if it is one.
            Kind::Bytes if len <= self.at.piece() => {}
            Kind::Bytes => self.take(len),
            // One that is given anew grows, by doubling.
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
        // The last may reach past the end, and is there when that is found out.
        self.items(count.saturating_add(1), size, first);
        self.at.advance(len);
        Some(())
    }

    fn length(&mut self, wire: WireType) -> Option<usize> {
        let len = (wire == WireType::LengthDelimited).then(|| decode_varint(&mut self.at).ok())??;
        usize::try_from(len).ok().filter(|len| *len <= self.at.remaining())
    }

    /// Items pushed to a vector: it begins with room for four (eight, of bytes), and doubles.
    fn items(&mut self, count: usize, size: usize, first: bool) {
        let begins = match (first, size) {
            (false, _) => 0,
            (true, 1) => 6,
            (true, _) => 2,
        };
        self.take(count.saturating_mul(2).saturating_add(begins).saturating_mul(size));
    }

    fn take(&mut self, bytes: usize) {
        self.room = self.room.saturating_add(bytes);
    }
}

/// The first entry of a map makes a node for eleven; nodes that are full are split, and their parents have nodes too.
fn map_entry(of: &MessageType, first: bool) -> usize {
    let entry = of.fields.iter().map(|f| f.kind.size().next_multiple_of(8)).sum::<usize>();
    let pointers = (NODE + 3) * size_of::<usize>();
    let node = NODE * entry + pointers;
    if first { node } else { node / SPLIT }
}

/// A place in the bytes of a message.
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
    /// Bytes that are left in the piece at hand.
    fn piece(&self) -> usize {
        self.chunk.len()
    }

    /// How many varints end in the next `len` bytes.
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
