//! Varints (LEB128): seven bits per byte, the lowest first.

/// The longest varint, in bytes.
pub const MAX_LEN: usize = 10;

/// Appends a varint.
pub fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Decodes a varint at the front and advances; `None` if it is truncated or exceeds 64 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for (i, b) in bytes.iter().enumerate().take(10) {
        if i == 9 && *b > 1 {
            return None;
        }
        n |= u64::from(b & 0x7f) << (7 * i);
        if *b < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(n);
        }
    }
    None
}

/// As `take`, for a size or an offset.
pub fn take_size(bytes: &mut &[u8]) -> Option<usize> {
    take(bytes).and_then(|n| usize::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for n in (0..64).map(|i| 1u64 << i).chain([0, 127, 300, u64::MAX]) {
            let mut out = Vec::new();
            put(&mut out, n);
            for len in 0..out.len() {
                assert_eq!(take(&mut &out[..len]), None);
            }
            let mut rest = &out[..];
            assert_eq!((take(&mut rest), rest.len()), (Some(n), 0));
        }
        assert_eq!(take(&mut &[0xff; 20][..]), None);
    }

    #[test]
    fn the_tenth_byte_has_one_bit() {
        let tenth = |b: u8| take(&mut &[&[0xff; 9][..], &[b]].concat()[..]);
        assert_eq!([0, 1, 2, 0x7f].map(tenth), [Some(u64::MAX >> 1), Some(u64::MAX), None, None]);
    }
}
