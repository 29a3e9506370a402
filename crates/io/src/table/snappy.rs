//! Snappy blocks, decompressed: checkpoints of the first format have them.

use crate::varint;
use thalweg_core::error::{Error, Result, data_loss};
use thalweg_core::reserve;

/// A length byte is copied at most 64 times from one element of three bytes.
const MAX_RATIO: usize = 64;

/// The contents of a block.
pub fn decompress(mut input: &[u8]) -> Result<Vec<u8>> {
    let length = varint::take_size(&mut input).ok_or_else(damaged)?;
    if length > input.len().saturating_mul(MAX_RATIO) {
        return Err(damaged());
    }
    let mut out: Vec<u8> = reserve::with_capacity(length)?;
    while let [tag, rest @ ..] = input {
        input = rest;
        let (upper, kind) = (usize::from(tag >> 2), tag & 3);
        if kind == 0 {
            let n = if upper < 60 { upper } else { number(&mut input, upper - 59)? };
            let n = n.checked_add(1).ok_or_else(damaged)?;
            let (literal, rest) = input.split_at_checked(n).ok_or_else(damaged)?;
            check_room(&out, n, length)?;
            out.extend_from_slice(literal);
            input = rest;
            continue;
        }
        let (n, offset) = match kind {
            1 => (4 + (upper & 7), (upper >> 3) << 8 | number(&mut input, 1)?),
            2 => (upper + 1, number(&mut input, 2)?),
            _ => (upper + 1, number(&mut input, 4)?),
        };
        let from = out.len().checked_sub(offset).filter(|_| offset > 0).ok_or_else(damaged)?;
        check_room(&out, n, length)?;
        // Byte by byte: a copy may overlap what it writes.
        for i in from..from + n {
            let byte = out.get(i).copied().ok_or_else(damaged)?;
            out.push(byte);
        }
    }
    if out.len() == length { Ok(out) } else { Err(damaged()) }
}

fn check_room(out: &[u8], n: usize, length: usize) -> Result<()> {
    if length - out.len() < n { Err(damaged()) } else { Ok(()) }
}

/// A number of `bytes` bytes, the lowest first.
fn number(input: &mut &[u8], bytes: usize) -> Result<usize> {
    let (now, rest) = input.split_at_checked(bytes).ok_or_else(damaged)?;
    *input = rest;
    Ok(now.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)))
}

fn damaged() -> Error {
    data_loss("a compressed block is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies_give_the_contents() {
        assert_eq!(decompress(&[0]).unwrap(), b"");
        assert_eq!(decompress(b"\x03\x08abc").unwrap(), b"abc");
        // "ab", then 6 bytes from 2 before: the copy overlaps itself.
        assert_eq!(decompress(&[8, 4, b'a', b'b', 2 << 2 | 1, 2]).unwrap(), b"abababab");
        assert_eq!(decompress(&[4, 0, b'x', 2 << 2 | 2, 1, 0]).unwrap(), b"xxxx");
        for bad in [
            &b""[..],
            &[5, 0, b'x'],
            &[4, 0, b'x', 1, 9],
            &[1, 8, b'a', b'b', b'c'],
            &[255, 255, 255, 255, 15, 0, 1],
        ] {
            assert!(decompress(bad).is_err(), "{bad:?}");
        }
    }
}
