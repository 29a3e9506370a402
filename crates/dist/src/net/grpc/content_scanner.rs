//! Scans a message as it arrives for the start of large contents.

/// The field numbers that lead to large contents, outermost first.
pub type ContentPath = &'static [u64];

/// `feed`, `tensor`, `tensor_content`.
pub const RUN_STEP: ContentPath = &[2, 2, 4];
/// `feed`, `tensor_content`.
pub const RUN_CALLABLE: ContentPath = &[3, 4];
/// `send`, `tensor`, `tensor_content`.
pub const RUN_GRAPH: ContentPath = &[3, 2, 4];
/// `tensor`, `tensor_content`, of a response.
pub const RECV_TENSOR: ContentPath = &[1, 4];
/// `recv`, or `tensor`, then `tensor`, `tensor_content`, in responses of steps.
pub const FETCHED: ContentPath = &[1, 2, 4];
pub const NO_CONTENT: ContentPath = &[];

/// From this size on, avoiding the copy is worth the lookup.
const LARGE: u64 = 64 << 10;

/// Malformed bytes are skipped: decoding reports them.
pub struct ContentScanner {
    path: ContentPath,
    /// Ends of the message and of nested messages around the position.
    ends: Vec<usize>,
    at: usize,
    next: Next,
    /// The incomplete varint, and its bits so far.
    number: u64,
    bits: u32,
}

/// The state of the parser: what comes next.
enum Next {
    Tag,
    Number,
    /// Of a field.
    Length(u64),
    /// Bytes to skip.
    Skip(usize),
}

const LOST: Next = Next::Skip(usize::MAX);

impl ContentScanner {
    pub fn new(length: usize, path: ContentPath) -> ContentScanner {
        let next = if path.is_empty() { LOST } else { Next::Tag };
        ContentScanner { path, ends: vec![length], at: 0, next, number: 0, bits: 0 }
    }

    /// Scans the next bytes. Returns how many precede a large content, and its length; the position is then after it.
    pub fn next_content(&mut self, bytes: &[u8]) -> (usize, Option<usize>) {
        let mut seen = 0;
        while let Some(byte) = bytes.get(seen) {
            if let Next::Skip(left) = self.next {
                let n = left.min(bytes.len() - seen);
                (seen, self.at) = (seen + n, self.at + n);
                self.next = if n == left { Next::Tag } else { Next::Skip(left - n) };
                continue;
            }
            self.leave();
            (seen, self.at) = (seen + 1, self.at + 1);
            if let Some(number) = self.numbered(*byte)
                && let Some(length) = self.step(number)
            {
                return (seen, Some(length));
            }
        }
        (seen, None)
    }

    /// Adds a byte to the varint; returns it when complete.
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

    /// Advances by a varint; returns the length of the large content that it begins, if any.
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
            false => self.next = Next::Skip(length),
        }
        None
    }

    /// Leaves messages that end here.
    fn leave(&mut self) {
        while self.ends.len() > 1 && self.ends.last().is_some_and(|end| *end <= self.at) {
            self.ends.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: ContentPath = &[2, 4];
    const MUCH: usize = 64 << 10;

    fn varint(n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        thalweg_io::varint::put(&mut out, n);
        out
    }

    /// A length-delimited field.
    fn field(number: u64, content: &[u8]) -> Vec<u8> {
        [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
    }

    /// Offsets and lengths of the contents found in a message split into pieces of this size.
    fn found(message: &[u8], piece: usize) -> Vec<(usize, usize)> {
        let (mut fields, mut at, mut found) = (ContentScanner::new(message.len(), PATH), 0, Vec::new());
        while at < message.len() {
            let (seen, content) = fields.next_content(&message[at..message.len().min(at + piece)]);
            at += seen;
            if let Some(length) = content {
                found.push((at, length));
                at += length;
            }
        }
        assert_eq!(at, message.len());
        found
    }

    /// Contents are found after fields of every wire type.
    #[test]
    fn contents_are_found_behind_fields_of_every_kind() {
        let content = field(4, &[7; MUCH]);
        for (what, before) in [
            ("nothing", vec![]),
            ("a number", vec![1 << 3, 5]),
            ("a number of two bytes", vec![1 << 3, 0x85, 1]),
            ("a negative number", [&[1 << 3][..], &varint(u64::MAX)].concat()),
            ("eight bytes", [&[1 << 3 | 1][..], &[0x12; 8]].concat()),
            ("four bytes", [&[1 << 3 | 5][..], &[0x12; 4]].concat()),
            ("a text", field(1, b"text")),
            ("an empty text", field(1, b"")),
            ("a field with a large number", field(1000, b"text")),
            ("the same field, small", field(4, &[7; MUCH - 1])),
            ("a large field of another number", field(5, &[0x12; MUCH])),
            ("a message that is too small", field(2, &[0x12; 10])),
        ] {
            let inner = [before.clone(), content.clone()].concat();
            let message = [before.clone(), field(2, &inner), before.clone(), field(2, &inner)].concat();
            let start = before.len() + 4 + before.len() + 4;
            let second = start + MUCH + before.len() + 4 + before.len() + 4;
            for piece in [1, 3, 1000, message.len()] {
                let want = [(start, MUCH), (second, MUCH)];
                assert_eq!(found(&message, piece), want, "after {what}, in pieces of {piece}");
            }
        }
    }

    #[test]
    fn only_what_lies_at_the_path_is_a_content() {
        let large = field(4, &[7; MUCH]);
        // Not nested, in another field, too deep, too small, and after the right message.
        for message in [
            large.clone(),
            field(3, &large),
            field(2, &field(3, &large)),
            field(2, &field(4, &[7; MUCH - 1])),
            [field(2, &field(3, &[7; MUCH])), large.clone()].concat(),
        ] {
            assert_eq!(found(&message, message.len()), []);
        }
        // Two in one message, and a field after them.
        let two = field(2, &[&large[..], &large, &[1 << 3, 1]].concat());
        assert_eq!(found(&two, 1000), [(8, MUCH), (8 + MUCH + 4, MUCH)]);
        assert!(matches!(ContentScanner::new(10, NO_CONTENT).next, Next::Skip(usize::MAX)));
    }

    #[test]
    fn a_content_at_the_first_level_or_the_third_is_found_as_well() {
        let large = field(4, &[7; MUCH]);
        for (path, message) in [(&[4][..], large.clone()), (&[2, 3, 4], field(2, &field(3, &large)))] {
            let mut fields = ContentScanner::new(message.len(), path);
            let start = message.len() - MUCH;
            assert_eq!(fields.next_content(&message), (start, Some(MUCH)));
        }
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        let large = field(2, &field(4, &[7; MUCH]));
        for (what, before) in [
            ("a number without end", [&[1 << 3][..], &[0xff; 11]].concat()),
            ("a kind of field that there is not", vec![1 << 3 | 3]),
            ("a length beyond the end", [&[1 << 3 | 2][..], &varint(1 << 40)].concat()),
        ] {
            let message = [before, large.clone()].concat();
            assert_eq!(found(&message, message.len()), [], "{what}");
        }
        // Exactly as long as the enclosing message, and longer.
        let fits =
            [&[2 << 3 | 2][..], &varint(MUCH as u64 + 4), &[4 << 3 | 2], &varint(MUCH as u64), &[7; MUCH]]
                .concat();
        assert_eq!(found(&fits, fits.len()).len(), 1);
        let longer =
            [&[2 << 3 | 2][..], &varint(MUCH as u64 + 3), &[4 << 3 | 2], &varint(MUCH as u64), &[7; MUCH]]
                .concat();
        assert_eq!(found(&longer, longer.len()), []);
        // More than its length.
        assert_eq!(
            ContentScanner::new(2, PATH).next_content(&[1 << 3, 1, 1 << 3, 1, 2 << 3 | 2, 0, 1]),
            (7, None)
        );
    }
}
