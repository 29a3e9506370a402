//! Encoding of variant tensors in a shard: for each variant its length as a varint, its message, and a CRC of all so far.

use super::strings::crc_differs;
use crate::crc::{self, Crc};
use crate::varint;
use crate::wire::{variant_from_bytes, variant_to_bytes};
use bytes::Bytes;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::reserve;
use thalweg_core::tensor::Variant;

/// The encoded bytes, and the CRC for the index.
pub fn encode(items: &[Variant]) -> Result<(Vec<u8>, u32)> {
    let (mut out, mut checksum) = (Vec::new(), Crc::default());
    for item in items {
        let message = variant_to_bytes(item)?;
        let start = out.len();
        reserve::room(&mut out, message.len().saturating_add(varint::MAX_LEN + 4))?;
        varint::put(&mut out, message.len() as u64);
        out.extend_from_slice(&message);
        checksum.add(&out[start..]);
        let so_far = checksum.masked().to_le_bytes();
        checksum.add(&so_far);
        out.extend_from_slice(&so_far);
    }
    Ok((out, checksum.masked()))
}

/// Decodes variants, all bytes of which must be used.
pub fn decode(data: &Bytes, count: usize, want: u32) -> Result<Vec<Variant>> {
    let short = || data_loss(format_args!("{} bytes are too few for {count} variants", data.len()));
    let (mut at, mut checksum) = (0, Crc::default());
    let mut items = Vec::new();
    for _ in 0..count {
        let mut rest = &data[at..];
        let length = varint::take_size(&mut rest).ok_or_else(short)?;
        let start = data.len() - rest.len();
        let end =
            start.checked_add(length).filter(|e| e.saturating_add(4) <= data.len()).ok_or_else(short)?;
        checksum.add(&data[at..end]);
        let stored = &data[end..end + 4];
        if !crc::agrees(stored, checksum.masked()) {
            return Err(data_loss("the checksum of a variant is wrong"));
        }
        checksum.add(stored);
        reserve::push(&mut items, variant_from_bytes(data.slice(start..end))?)?;
        at = end + 4;
    }
    if at != data.len() {
        return Err(data_loss(format_args!("{} bytes are left after {count} variants", data.len() - at)));
    }
    if !crc::agrees(&want.to_le_bytes(), checksum.masked()) {
        return Err(crc_differs(want, checksum.masked()));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::tensor::{EncodedVariant, Tensor};

    #[test]
    fn variants_survive_and_every_cut_and_flip_is_noticed() {
        let value = EncodedVariant {
            type_name: "t".into(),
            metadata: Bytes::from_static(b"keys"),
            tensors: vec![Tensor::scalar(3f32)],
        };
        let (bytes, checksum) = encode(&[Variant::new(value), Variant::default()]).unwrap();
        let read = decode(&Bytes::from(bytes.clone()), 2, checksum).unwrap();
        let first = read[0].get::<EncodedVariant>().unwrap();
        assert_eq!((first.type_name.as_str(), &first.metadata[..]), ("t", &b"keys"[..]));
        assert!(read[1].0.is_none());
        for cut in 0..bytes.len() {
            assert!(decode(&Bytes::copy_from_slice(&bytes[..cut]), 2, checksum).is_err());
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&Bytes::from(flipped), 2, checksum).is_err());
        }
        assert!(decode(&Bytes::from(bytes), usize::MAX, checksum).is_err());
    }
}
