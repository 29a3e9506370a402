//! Encoding of string tensors in a shard: all lengths as varints, a CRC of the lengths, all bytes.

use crate::crc::{self, Crc};
use crate::varint;
use bytes::Bytes;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::reserve;

/// The encoded bytes, and the CRC for the index.
pub fn encode(items: &[Bytes]) -> Result<(Vec<u8>, u32)> {
    let bytes = items.iter().fold(4usize, |n, s| n.saturating_add(s.len() + varint::MAX_LEN));
    let mut out = reserve::with_capacity(bytes)?;
    items.iter().for_each(|s| varint::put(&mut out, s.len() as u64));
    let mut checksum = Checksum::default();
    items.iter().for_each(|s| checksum.length(s.len()));
    out.extend_from_slice(&checksum.end_of_lengths());
    for s in items {
        out.extend_from_slice(s);
        checksum.0.add(s);
    }
    Ok((out, checksum.0.masked()))
}

/// Decodes strings, as slices of `data`, all of which must be used.
pub fn decode(data: &Bytes, count: usize, want: u32) -> Result<Vec<Bytes>> {
    let short = || data_loss(format_args!("{} bytes are too few for {count} strings", data.len()));
    let mut rest = &data[..];
    let mut checksum = Checksum::default();
    // Each length is at least one byte.
    let mut lengths = reserve::with_capacity(count.min(data.len()))?;
    for _ in 0..count {
        let length = varint::take_size(&mut rest).ok_or_else(short)?;
        checksum.length(length);
        lengths.push(length);
    }
    let stored = rest.split_off(..4).ok_or_else(short)?;
    if !crc::agrees(stored, u32::from_le_bytes(checksum.end_of_lengths())) {
        return Err(data_loss("the checksum of the strings' lengths is wrong"));
    }
    checksum.0.add(rest);
    if !crc::agrees(&want.to_le_bytes(), checksum.0.masked()) {
        return Err(crc_differs(want, checksum.0.masked()));
    }
    let mut at = data.len() - rest.len();
    let mut items = reserve::with_capacity(lengths.len())?;
    for length in lengths {
        let end = at.checked_add(length).filter(|end| *end <= data.len()).ok_or_else(short)?;
        items.push(data.slice(at..end));
        at = end;
    }
    if at != data.len() {
        return Err(data_loss(format_args!("{} bytes are left after {count} strings", data.len() - at)));
    }
    Ok(items)
}

pub fn crc_differs(stored: u32, got: u32) -> thalweg_core::error::Error {
    data_loss(format_args!(
        "Checksum does not match: stored {stored:#010x} vs. calculated on the restored bytes {got:#010x}"
    ))
}

/// The CRC of a string tensor: over the lengths as fixed-size integers, the CRC of these, and the bytes.
#[derive(Default)]
struct Checksum(Crc);

impl Checksum {
    fn length(&mut self, n: usize) {
        match u32::try_from(n) {
            Ok(n) => self.0.add(&n.to_le_bytes()),
            Err(_) => self.0.add(&(n as u64).to_le_bytes()),
        }
    }

    fn end_of_lengths(&mut self) -> [u8; 4] {
        let bytes = self.0.masked().to_le_bytes();
        self.0.add(&bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_stored_as_tensorflow_stores_them() {
        let items = ["a", "bc"].map(|s| Bytes::from_static(s.as_bytes()));
        let (bytes, checksum) = encode(&items).unwrap();
        assert_eq!(bytes, b"\x01\x02\xbf\xdf\xdb\x7aabc");
        // From the index of the same tensor.
        assert_eq!(checksum.to_le_bytes(), [0xe9, 0xe4, 0x36, 0x85]);
        let data = Bytes::from(bytes);
        assert_eq!(decode(&data, 2, checksum).unwrap(), items);
        assert!(decode(&data, 3, checksum).is_err() && decode(&data, 1, checksum).is_err());
        assert!(decode(&data, usize::MAX, checksum).is_err());
        let nothing = encode(&[]).unwrap().0;
        assert_eq!(crate::crc::masked(b""), nothing.try_into().map(u32::from_le_bytes).unwrap());
    }
}
