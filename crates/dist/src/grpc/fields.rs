//! The fields of a message that arrives bit by bit, as far as is needed to see where large contents begin.

/// Where large contents lie: field numbers, from the outside in.
pub type Path = &'static [u64];

/// `feed`, `tensor`, `tensor_content`.
pub const RUN_STEP: Path = &[2, 2, 4];
/// `feed`, `tensor_content`.
pub const RUN_CALLABLE: Path = &[3, 4];
/// `send`, `tensor`, `tensor_content`.
pub const RUN_GRAPH: Path = &[3, 2, 4];
/// `tensor`, `tensor_content`, in the answer.
pub const RECV_TENSOR: Path = &[1, 4];
/// `recv`, or `tensor`, then `tensor`, `tensor_content`, in the answers to steps.
pub const FETCHED: Path = &[1, 2, 4];
pub const NOWHERE: Path = &[];

/// From this size on, a second copy costs more than looking for what it is a copy of.
const LARGE: u64 = 64 << 10;

/// A place in a message. Bytes that make no sense are passed over: whoever decodes them will say so.
pub struct Fields {
    path: Path,
    /// Where the message ends, and those in it that have been entered.
    ends: Vec<usize>,
    at: usize,
    next: Next,
    /// The number that is being read, and its bits so far.
    number: u64,
    bits: u32,
}

/// What comes next.
enum Next {
    Tag,
    Number,
    /// Of this field.
    Length(u64),
    /// So many bytes of no interest.
    Skip(usize),
}

const LOST: Next = Next::Skip(usize::MAX);

impl Fields {
    pub fn new(length: usize, path: Path) -> Fields {
        let next = if path.is_empty() { LOST } else { Next::Tag };
        Fields { path, ends: vec![length], at: 0, next, number: 0, bits: 0 }
    }

    /// Looks through the next bytes. How many of them come before a large content, and its length: the place is then behind it.
    pub fn next_content(&mut self, bytes: &[u8]) -> (usize, Option<usize>) {
        let mut seen = 0;
        while let Some(byte) = bytes.get(seen) {
            if let Next::Skip(left) = self.next {
                let n = left.min(bytes.len() - seen);
                (seen, self.at) = (seen + n, self.at + n);
                self.next = if n == left { Next::Tag } else { Next::Skip(left - n) };
                continue;
            }
            if matches!(self.next, Next::Tag) && self.bits == 0 {
                self.leave();
            }
            (seen, self.at) = (seen + 1, self.at + 1);
            if let Some(number) = self.numbered(*byte)
                && let Some(length) = self.step(number)
            {
                return (seen, Some(length));
            }
        }
        (seen, None)
    }

    /// Adds a byte to the number that is being read; the number at its end.
    fn numbered(&mut self, byte: u8) -> Option<u64> {
        if self.bits > 63 {
            self.next = LOST;
            return None;
        }
        self.number |= u64::from(byte & 0x7f) << self.bits;
        self.bits += 7;
        if byte >= 0x80 {
            return None;
        }
        self.bits = 0;
        Some(std::mem::take(&mut self.number))
    }

    /// Goes on after a number; the length of the large content that it begins, if it does.
    fn step(&mut self, number: u64) -> Option<usize> {
        let field = match self.next {
            Next::Length(field) => field,
            Next::Tag => {
                self.next = match number & 7 {
                    0 => Next::Number,
                    1 => Next::Skip(8),
                    2 => Next::Length(number >> 3),
                    5 => Next::Skip(4),
                    _ => LOST,
                };
                return None;
            }
            Next::Number | Next::Skip(_) => {
                self.next = Next::Tag;
                return None;
            }
        };
        let room = self.ends.last().map_or(0, |end| end.saturating_sub(self.at));
        let Some(length) = usize::try_from(number).ok().filter(|n| *n <= room) else {
            self.next = LOST;
            return None;
        };
        let depth = self.ends.len() - 1;
        self.next = Next::Tag;
        match self.path.get(depth) == Some(&field) && number >= LARGE {
            true if depth + 1 == self.path.len() => {
                self.at += length;
                return Some(length);
            }
            true => self.ends.push(self.at + length),
            false if length > 0 => self.next = Next::Skip(length),
            false => {}
        }
        None
    }

    /// Leaves the messages that end here.
    fn leave(&mut self) {
        while self.ends.len() > 1 && self.ends.last().is_some_and(|end| *end <= self.at) {
            self.ends.pop();
        }
    }
}
