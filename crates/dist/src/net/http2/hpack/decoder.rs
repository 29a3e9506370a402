//! Decodes header blocks (HPACK, RFC 7541).

use super::static_table::FIELDS;
use super::{ENTRY, Head, KNOWN, TABLE, huffman};
use bytes::Bytes;
use std::collections::VecDeque;

/// The dynamic table, newest entry first.
pub struct Decoder {
    table: VecDeque<(Bytes, Bytes)>,
    size: usize,
    limit: usize,
    /// Scratch buffer for Huffman decoding.
    text: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { table: VecDeque::new(), size: 0, limit: TABLE, text: Vec::new() }
    }
}

/// Fields of one block. An indexed field is one byte and may stand for a long field, so more are an attack.
const MAX_FIELDS: usize = 256;

impl Decoder {
    /// Decodes a whole block. After an error the dynamic table is out of step with the peer's.
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
                    // RFC 7541, 4.2: only at the start of a block, at most two size updates.
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

    /// An entry of the static or dynamic table.
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

/// An integer with a prefix of N bits (RFC 7541, 5.1).
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
        // Three requests, Huffman-coded (C.4).
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

    /// The entries of the dynamic table, newest first, and its size.
    fn remembered(decoder: &Decoder) -> (Vec<(String, String)>, usize) {
        let text = |b: &Bytes| String::from_utf8(b.to_vec()).unwrap();
        (decoder.table.iter().map(|(n, v)| (text(n), text(v))).collect(), decoder.size)
    }

    /// RFC 7541, C.6: responses, with a dynamic table so small that entries are evicted.
    #[test]
    fn responses_of_the_standards_examples_push_each_other_out() {
        let mut decoder = Decoder::default();
        let blocks: [&[u8]; 3] = [
            // Begins with the table size update that the examples assume.
            b"\x3f\xe1\x01\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
            b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf",
            b"\x88\xc1\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x84\xa6\x2d\x1b\xff\xc0\x5a\x83\x9b\xd9\xab\x77\xad\x94\xe7\x82\x1d\xd7\xf2\xe6\xc7\xb3\x35\xdf\xdf\xcd\x5b\x39\x60\xd5\xaf\x27\x08\x7f\x36\x72\xc1\xab\x27\x0f\xb5\x29\x1f\x95\x87\x31\x60\x65\xc0\x03\xed\x4e\xe5\xb1\x06\x3d\x50\x07",
        ];
        let (first, last) = ("Mon, 21 Oct 2013 20:13:21 GMT", "Mon, 21 Oct 2013 20:13:22 GMT");
        let (location, control) = (("location", "https://www.example.com"), ("cache-control", "private"));
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        let want = [
            ("302", vec![location, ("date", first), control, (":status", "302")], 222),
            ("307", vec![(":status", "307"), location, ("date", first), control], 222),
            ("200", vec![("set-cookie", cookie), ("content-encoding", "gzip"), ("date", last)], 215),
        ];
        for (block, (status, table, size)) in blocks.into_iter().zip(want) {
            let head = decoder.decode(block).unwrap();
            assert_eq!(head.http_status.as_deref(), Some(status.as_bytes()));
            let (found, counted) = remembered(&decoder);
            let found: Vec<_> = found.iter().map(|(n, v)| (&n[..], &v[..])).collect();
            assert_eq!((found, counted), (table, size), "status {status}");
        }
    }

    /// A literal with incremental indexing.
    fn entry(name: u8, value: usize) -> Vec<u8> {
        let mut out = vec![0x40, 1, name];
        match value {
            0..127 => out.push(value as u8),
            _ => out.extend([0x7f, (((value - 127) % 128) | 0x80) as u8, ((value - 127) / 128) as u8]),
        }
        out.extend(vec![b'v'; value]);
        out
    }

    #[test]
    fn the_table_holds_as_much_as_was_agreed_and_no_more() {
        let mut decoder = Decoder::default();
        // Two fill it exactly.
        decoder.decode(&[entry(b'a', 1000), entry(b'b', 4096 - 1033 - 33)].concat()).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (2, 4096));
        // The smallest entry evicts the oldest.
        decoder.decode(&entry(b'c', 0)).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (2, 4096 - 1033 + 33));
        // An entry of the table's size evicts all others; a larger one empties the table.
        decoder.decode(&entry(b'd', 4096 - 33)).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (1, 4096));
        decoder.decode(&entry(b'e', 4096 - 32)).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (0, 0));
        assert!(decoder.decode(&[0x80 | 62]).is_err());
    }

    #[test]
    fn a_smaller_table_forgets_and_stays_small() {
        let mut decoder = Decoder::default();
        decoder.decode(&[entry(b'a', 0), entry(b'b', 0), entry(b'c', 0)].concat()).unwrap();
        // 66 bytes: two of 33 stay.
        decoder.decode(&[0x3f, 66 - 31]).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (2, 66));
        decoder.decode(&[0x3f, 65 - 31]).unwrap();
        assert_eq!((decoder.table.len(), decoder.size), (1, 33));
        decoder.decode(&entry(b'd', 0)).unwrap();
        assert_eq!(remembered(&decoder), (vec![("d".into(), "".into())], 33));
        // At most the agreed size; only as the first two fields of a block.
        assert!(decoder.decode(&[0x20, 0x3f, 0xe1, 0x1f]).is_ok());
        assert!(decoder.decode(&[0x3f, 0xe2, 0x1f]).is_err());
        assert!(decoder.decode(&[0x20, 0x20, 0x20]).is_err());
        assert!(decoder.decode(&[0x82, 0x20]).is_err());
    }

    #[test]
    fn fields_are_named_by_the_numbers_that_there_are() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.entry(1), Ok((":authority".into(), "".into())));
        assert_eq!(decoder.entry(61), Ok(("www-authenticate".into(), "".into())));
        assert!(decoder.entry(0).is_err() && decoder.entry(62).is_err());
        decoder.decode(&[entry(b'a', 1), entry(b'b', 2)].concat()).unwrap();
        assert_eq!(decoder.entry(62), Ok(("b".into(), "vv".into())));
        assert_eq!(decoder.entry(63), Ok(("a".into(), "v".into())));
        assert!(decoder.entry(64).is_err());
    }

    #[test]
    fn a_block_has_at_most_so_many_fields() {
        assert!(Decoder::default().decode(&[0x82; 256]).is_ok());
        assert!(Decoder::default().decode(&[0x82; 257]).is_err());
    }

    #[test]
    fn literals_that_are_not_remembered_are_read_all_the_same() {
        let mut decoder = Decoder::default();
        // Without indexing, never indexed; name by index, and literal.
        for block in [&b"\x04\x02/a"[..], b"\x14\x02/a", b"\x00\x05:path\x02/a", b"\x10\x05:path\x02/a"] {
            assert_eq!(decoder.decode(block).unwrap().path.as_deref(), Some(&b"/a"[..]), "{block:?}");
        }
        assert_eq!(remembered(&decoder), (vec![], 0));
        for cut in [&b"\x04"[..], b"\x04\x02/", b"\x00\x05:pat", b"\x00"] {
            assert!(decoder.decode(cut).is_err(), "{cut:?}");
        }
    }

    #[test]
    fn numbers_end_where_their_last_byte_is() {
        for (bytes, prefix, number, left) in [
            (&[0xff, 0x00, 9][..], 7, 127, 1),
            (&[0xfe, 9], 7, 126, 1),
            (&[0x3f, 0xe1, 0x1f], 5, 4096, 0),
            (&[0x0f, 0x80, 0x01], 4, 15 + 128, 0),
            (&[0x0f, 0xff, 0xff, 0xff, 0x7f], 4, 15 + (1 << 28) - 1, 0),
        ] {
            let mut rest = bytes;
            assert_eq!(integer(&mut rest, prefix), Ok(number), "{bytes:?}");
            assert_eq!(rest.len(), left, "{bytes:?}");
        }
        assert!(integer(&mut &[0x0f, 0xff, 0xff, 0xff, 0xff, 0x00][..], 4).is_err());
        assert!(integer(&mut &[][..], 4).is_err());
    }
}
