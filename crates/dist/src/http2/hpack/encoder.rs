//! Header blocks, written. Texts are not coded: what is sent often is remembered, and then takes a byte.

use super::static_table::FIELDS;
use super::{ENTRY, KNOWN, TABLE};
use bytes::{BufMut, BytesMut};

/// The fields that the peer remembers for us, oldest first. There is room for all that matter, so none is ever pushed out.
pub struct Encoder {
    sent: Vec<(&'static str, Vec<u8>)>,
    size: usize,
    limit: usize,
    /// The peer is to be told that nothing is to be remembered any more.
    forget: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { sent: Vec::new(), size: 0, limit: TABLE, forget: false }
    }
}

impl Encoder {
    /// What the peer is willing to remember. With less than usual, nothing is left to remember.
    pub fn peer_table(&mut self, bytes: usize) {
        if bytes < self.limit {
            *self = Encoder { limit: 0, forget: true, ..Default::default() };
        }
    }

    /// To be called before the first field of a block.
    pub fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::take(&mut self.forget) {
            out.put_u8(0x20);
        }
    }

    /// A field that will come again.
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

    /// A field that will not.
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
