//! Header blocks, read.

use super::static_table::FIELDS;
use super::{ENTRY, Head, KNOWN, TABLE, huffman};
use bytes::Bytes;
use std::collections::VecDeque;

/// The fields that a peer may name by number, newest first.
pub struct Decoder {
    table: VecDeque<(Bytes, Bytes)>,
    size: usize,
    limit: usize,
    /// Where texts are decoded; kept for the next.
    text: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { table: VecDeque::new(), size: 0, limit: TABLE, text: Vec::new() }
    }
}

/// Fields of one block: what is longer is meant to keep us busy, as a short number may stand for a long field.
const MAX_FIELDS: usize = 256;

impl Decoder {
    /// What a whole block says; an error says what is wrong with it. After one, the table is not the peer's any more.
    pub fn decode(&mut self, block: &[u8]) -> Result<Head, &'static str> {
        let mut head = Head::default();
        let mut rest = block;
        for field in 0..MAX_FIELDS {
            let Some(first) = rest.first().copied() else { return Ok(head) };
            match first {
                0x80.. => {
                    let number = integer(&mut rest, 7)?;
                    let (name, value) = self.entry(number)?;
                    head.take(&name, &value);
                }
                0x40.. => {
                    let (name, value) = self.literal(&mut rest, 6)?;
                    head.take(&name, &value);
                    self.insert(name, value);
                }
                0x20.. => {
                    // RFC 7541, 4.2: at the start of a block, and no more than a smallest and a last size.
                    if field >= 2 || head != Head::default() {
                        return Err("a table size in the middle of header fields");
                    }
                    let limit = integer(&mut rest, 5)?;
                    if limit > TABLE {
                        return Err("a table of headers larger than agreed");
                    }
                    self.limit = limit;
                    self.shrink(limit);
                }
                _ => {
                    let (name, value) = self.literal(&mut rest, 4)?;
                    head.take(&name, &value);
                }
            }
        }
        if rest.is_empty() { Ok(head) } else { Err("too many header fields") }
    }

    fn literal(&mut self, rest: &mut &[u8], prefix: u32) -> Result<(Bytes, Bytes), &'static str> {
        let name = match integer(rest, prefix)? {
            0 => self.string(rest)?,
            number => self.entry(number)?.0,
        };
        Ok((name, self.string(rest)?))
    }

    /// The field of a number.
    fn entry(&self, number: usize) -> Result<(Bytes, Bytes), &'static str> {
        let known = || number.checked_sub(1).and_then(|n| FIELDS.get(n));
        if let Some((name, value)) = known() {
            return Ok((Bytes::from_static(name.as_bytes()), Bytes::from_static(value.as_bytes())));
        }
        let found = number.checked_sub(KNOWN + 1).and_then(|n| self.table.get(n));
        found.cloned().ok_or("a header field of a number that there is not")
    }

    fn string(&mut self, rest: &mut &[u8]) -> Result<Bytes, &'static str> {
        let coded = rest.first().is_some_and(|b| b & 0x80 != 0);
        let length = integer(rest, 7)?;
        let (text, after) = rest.split_at_checked(length).ok_or(CUT)?;
        *rest = after;
        if !coded {
            return Ok(Bytes::copy_from_slice(text));
        }
        self.text.clear();
        huffman::decode(text, &mut self.text).ok_or("a header text that is not well coded")?;
        Ok(Bytes::copy_from_slice(&self.text))
    }

    fn insert(&mut self, name: Bytes, value: Bytes) {
        let size = name.len() + value.len() + ENTRY;
        self.shrink(self.limit.saturating_sub(size));
        if size <= self.limit {
            self.size += size;
            self.table.push_front((name, value));
        }
    }

    fn shrink(&mut self, limit: usize) {
        while self.size > limit
            && let Some((name, value)) = self.table.pop_back()
        {
            self.size -= name.len() + value.len() + ENTRY;
        }
    }
}

const CUT: &str = "header fields that end in the middle";

/// A number whose first bits are the last `prefix` of a byte.
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, &'static str> {
    let (first, mut after) = rest.split_first().ok_or(CUT)?;
    let most = (1usize << prefix) - 1;
    let mut number = usize::from(*first) & most;
    if number == most {
        for shift in (0..28).step_by(7) {
            let (byte, more) = after.split_first().ok_or(CUT)?;
            after = more;
            number += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                *rest = after;
                return Ok(number);
            }
        }
        return Err("a number in the headers that is too large");
    }
    *rest = after;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_the_standards_examples() {
        let mut decoder = Decoder::default();
        // Three requests on one connection, with coded texts.
        let blocks: [(&[u8], &[u8]); 3] = [
            (
                b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
                b"/",
            ),
            (b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf", b"/"),
            (
                b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf",
                b"/index.html",
            ),
        ];
        for (block, path) in blocks {
            assert_eq!(decoder.decode(block).unwrap().path.as_deref(), Some(path));
        }
        let names: Vec<_> = decoder.table.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        let want: [(&[u8], &[u8]); 3] = [
            (b"custom-key", b"custom-value"),
            (b"cache-control", b"no-cache"),
            (b":authority", b"www.example.com"),
        ];
        assert_eq!(names, want);
        assert_eq!(decoder.size, 164);
    }

    #[test]
    fn numbers_over_several_bytes() {
        assert_eq!(integer(&mut &[0x1f, 0x9a, 0x0a][..], 5), Ok(1337));
        assert_eq!(integer(&mut &[0x0a][..], 5), Ok(10));
        assert!(integer(&mut &[0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01][..], 5).is_err());
        assert!(integer(&mut &[0x1f, 0x9a][..], 5).is_err());
    }

    #[test]
    fn a_short_block_does_not_stand_for_endless_fields() {
        assert!(Decoder::default().decode(&[0x82; 10_000]).is_err());
    }
}
