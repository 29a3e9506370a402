//! Keys of slices, in order-preserving encodings (TensorFlow's `OrderedCode`).

use super::slice::TensorSlice;

/// The key of a stored slice: 0, the tensor's name, the rank, then start and length along each dimension.
pub fn of_slice(name: &str, slice: &TensorSlice) -> Vec<u8> {
    let mut key = Vec::new();
    put_unsigned(&mut key, 0);
    put_string(&mut key, name.as_bytes());
    put_unsigned(&mut key, slice.rank() as u64);
    for e in slice.extents() {
        put_signed(&mut key, e.start);
        put_signed(&mut key, e.length.unwrap_or(-1));
    }
    key
}

/// Whether a key is a slice's. Names of tensors are not empty and do not start with a zero byte.
pub fn is_of_slice(key: &[u8]) -> bool {
    key.first() == Some(&0)
}

/// The number of bytes, then the bytes, big-endian.
fn put_unsigned(out: &mut Vec<u8>, n: u64) {
    let bytes = n.to_be_bytes();
    let skip = n.leading_zeros() as usize / 8;
    out.push((8 - skip) as u8);
    out.extend_from_slice(&bytes[skip..]);
}

/// The bytes with 0 and 255 escaped, then a terminator that sorts before any byte.
fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    for b in bytes {
        match b {
            0 => out.extend([0, 0xff]),
            0xff => out.extend([0xff, 0]),
            b => out.push(*b),
        }
    }
    out.extend([0, 1]);
}

/// Seven bits per byte; the number of leading ones (zeros for negative numbers) is the length, as in UTF-8.
fn put_signed(out: &mut Vec<u8>, n: i64) {
    let magnitude = if n < 0 { !n } else { n } as u64;
    let length = (1..10).find(|len| magnitude >> (7 * len - 1) == 0).unwrap_or(10);
    // Ten bytes of two's complement hold any number with its header.
    let mut bytes = i128::from(n).to_be_bytes();
    let bytes = &mut bytes[16 - length..];
    let header = (0xffff_u32 << (16 - length)) as u16;
    bytes[0] ^= (header >> 8) as u8;
    if length > 8 {
        bytes[1] ^= header as u8;
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_tensorflow_encodes_them() {
        let signed = |n| {
            let mut out = Vec::new();
            put_signed(&mut out, n);
            out
        };
        assert_eq!(signed(0), [0x80]);
        assert_eq!(signed(3), [0x83]);
        assert_eq!(signed(-1), [0x7f]);
        assert_eq!(signed(-64), [0x40]);
        assert_eq!(signed(64), [0xc0, 0x40]);
        assert_eq!(signed(-65), [0x3f, 0xbf]);
        assert_eq!(signed(8192), [0xe0, 0x20, 0x00]);
        assert_eq!(signed(i64::MAX), [0xff, 0xc0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        let mut out = Vec::new();
        put_unsigned(&mut out, 0);
        put_unsigned(&mut out, 2);
        put_unsigned(&mut out, 256);
        assert_eq!(out, [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn encoded_numbers_sort_as_numbers() {
        let mut numbers: Vec<i64> =
            (0..63).flat_map(|i| [1 << i, (1 << i) - 1, -(1 << i), -(1 << i) - 1]).collect();
        numbers.extend([i64::MAX, i64::MIN]);
        numbers.sort_unstable();
        let keys: Vec<Vec<u8>> = numbers
            .iter()
            .map(|n| {
                let mut out = Vec::new();
                put_signed(&mut out, *n);
                out
            })
            .collect();
        assert!(keys.is_sorted());
    }

    #[test]
    fn the_key_of_a_slice_is_the_one_tensorflow_writes() {
        // From the index of a variable 'p' of shape [5, 3] saved in two parts.
        let slice = TensorSlice::parse("0,3:0,3").unwrap();
        assert_eq!(of_slice("p", &slice), b"\0p\0\x01\x01\x02\x80\x83\x80\x83");
        assert_eq!(
            of_slice("p", &TensorSlice::parse("3,2:-").unwrap()),
            b"\0p\0\x01\x01\x02\x83\x82\x80\x7f"
        );
    }
}
