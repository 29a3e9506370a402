//! Encodes header blocks. No Huffman coding: frequent fields are in the dynamic table, and take a byte.

use super::static_table::FIELDS;
use super::{ENTRY, KNOWN, TABLE};
use bytes::{BufMut, BytesMut};

/// The dynamic table, oldest entry first. It has room for all fields that we index, so none is evicted.
pub struct Encoder {
    sent: Vec<(&'static str, Vec<u8>)>,
    size: usize,
    limit: usize,
    /// A table size update to 0 is due.
    forget: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { sent: Vec::new(), size: 0, limit: TABLE, forget: false }
    }
}

impl Encoder {
    /// SETTINGS_HEADER_TABLE_SIZE of the peer. If it is lower than the default, nothing is indexed.
    pub fn peer_table(&mut self, bytes: usize) {
        if bytes < self.limit {
            *self = Encoder { limit: 0, forget: true, ..Default::default() };
        }
    }

    /// Must precede the first field of a block.
    pub fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::take(&mut self.forget) {
            out.put_u8(0x20);
        }
    }

    /// An indexed field.
    pub fn field(&mut self, out: &mut BytesMut, name: &'static str, value: &[u8]) {
        if let Some(place) = self.sent.iter().position(|s| s.0 == name && s.1 == value) {
            return integer(out, 0x80, 7, KNOWN + self.sent.len() - place);
        }
        if let Some(known) = FIELDS.iter().position(|f| f.0 == name && f.1.as_bytes() == value) {
            return integer(out, 0x80, 7, known + 1);
        }
        let size = name.len() + value.len() + ENTRY;
        if self.size + size > self.limit {
            return self.passing(out, name, value);
        }
        literal(out, 0x40, 6, name, value);
        self.sent.push((name, value.to_vec()));
        self.size += size;
    }

    /// A literal field without indexing.
    pub fn passing(&self, out: &mut BytesMut, name: &str, value: &[u8]) {
        literal(out, 0, 4, name, value);
    }
}

fn literal(out: &mut BytesMut, kind: u8, prefix: u32, name: &str, value: &[u8]) {
    match FIELDS.iter().position(|f| f.0 == name) {
        Some(known) => integer(out, kind, prefix, known + 1),
        None => {
            integer(out, kind, prefix, 0);
            string(out, name.as_bytes());
        }
    }
    string(out, value);
}

fn string(out: &mut BytesMut, text: &[u8]) {
    integer(out, 0, 7, text.len());
    out.put_slice(text);
}

fn integer(out: &mut BytesMut, kind: u8, prefix: u32, number: usize) {
    let most = (1usize << prefix) - 1;
    if number < most {
        return out.put_u8(kind | number as u8);
    }
    out.put_u8(kind | most as u8);
    let mut left = number - most;
    while left >= 0x80 {
        out.put_u8(left as u8 | 0x80);
        left >>= 7;
    }
    out.put_u8(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(encoder: &mut Encoder, fields: &[(&'static str, &str)]) -> Vec<u8> {
        let mut out = BytesMut::new();
        encoder.begin(&mut out);
        for (name, value) in fields {
            encoder.field(&mut out, name, value.as_bytes());
        }
        out.to_vec()
    }

    /// RFC 7541, C.3: requests without Huffman coding.
    #[test]
    fn requests_of_the_standards_examples() {
        let mut encoder = Encoder::default();
        let place = (":authority", "www.example.com");
        let first = [(":method", "GET"), (":scheme", "http"), (":path", "/"), place];
        assert_eq!(block(&mut encoder, &first), b"\x82\x86\x84\x41\x0fwww.example.com");
        let second = [&first[..], &[("cache-control", "no-cache")]].concat();
        assert_eq!(block(&mut encoder, &second), b"\x82\x86\x84\xbe\x58\x08no-cache");
        let third = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            place,
            ("custom-key", "custom-value"),
        ];
        assert_eq!(block(&mut encoder, &third), b"\x82\x87\x85\xbf\x40\x0acustom-key\x0ccustom-value");
        assert_eq!(encoder.size, 164);
        // All of them are indexed now; the name with another value is not.
        assert_eq!(block(&mut encoder, &third[3..]), [0x80 | 64, 0x80 | 62]);
        assert_eq!(block(&mut encoder, &[("custom-key", "x")]), b"\x40\x0acustom-key\x01x");
    }

    #[test]
    fn what_the_peer_has_no_room_for_is_sent_in_full_each_time() {
        let mut encoder = Encoder::default();
        let (most, rest) = ("v".repeat(4000 - 33), "v".repeat(96 - 33));
        assert_eq!(block(&mut encoder, &[("a", &most)])[0], 0x40);
        // One byte too many is not indexed; an exact fit is.
        let too_long = format!("{rest}v");
        for _ in 0..2 {
            assert_eq!(block(&mut encoder, &[("b", &too_long)])[0], 0);
        }
        assert_eq!(encoder.size, 4000);
        assert_eq!(block(&mut encoder, &[("b", &rest)])[0], 0x40);
        assert_eq!(encoder.size, 4096);
        assert_eq!(block(&mut encoder, &[("c", "")]), b"\0\x01c\0");
        assert_eq!(block(&mut encoder, &[("b", &rest), ("a", &most)]), [0x80 | 62, 0x80 | 63]);
    }

    #[test]
    fn a_peer_that_remembers_less_is_told_to_forget_once() {
        for table in [0, 4095] {
            let mut encoder = Encoder::default();
            block(&mut encoder, &[("a", "1")]);
            encoder.peer_table(table);
            assert_eq!(block(&mut encoder, &[("a", "1")]), b"\x20\0\x01a\x011");
            assert_eq!(block(&mut encoder, &[("a", "1"), (":method", "GET")]), b"\0\x01a\x011\x82");
            // The table size update is sent once.
            encoder.peer_table(0);
            encoder.peer_table(8192);
            assert_eq!(block(&mut encoder, &[("a", "1")]), b"\0\x01a\x011");
        }
        for table in [4096, 8192] {
            let mut encoder = Encoder::default();
            block(&mut encoder, &[("a", "1")]);
            encoder.peer_table(table);
            assert_eq!(block(&mut encoder, &[("a", "1")]), [0x80 | 62], "{table}");
        }
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        for (kind, prefix, number, want) in [
            (0x80, 7, 126, &[0xfe][..]),
            (0x80, 7, 127, &[0xff, 0]),
            (0x40, 6, 62, &[0x7e]),
            (0x40, 6, 63, &[0x7f, 0]),
            (0, 5, 1337, &[0x1f, 0x9a, 0x0a]),
            (0, 4, 15 + 127, &[0x0f, 0x7f]),
            (0, 4, 15 + 128, &[0x0f, 0x80, 1]),
        ] {
            let mut out = BytesMut::new();
            integer(&mut out, kind, prefix, number);
            assert_eq!(out, want, "{number}");
        }
    }
}
