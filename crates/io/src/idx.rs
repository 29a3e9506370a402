//! idx files, the format of MNIST: magic number, dimensions, then bytes; gzipped or not.

use crate::{bounded_read, durable};
use std::io::ErrorKind;
use std::path::Path;
use thalweg_core::error::{Error, Result, data_loss};
use thalweg_core::reserve;

/// An array of bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Idx {
    pub dims: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// The limit on the size of a file, after decompression.
const MAX_BYTES: usize = 1 << 31;

pub fn read(path: &Path) -> Result<Idx> {
    let file = bounded_read::read(path)?;
    parse(&file).map_err(|e| durable::with_path(path, e))
}

/// Parses a file's bytes.
pub fn parse(file: &[u8]) -> Result<Idx> {
    let mut plain = Vec::new();
    let data = match file {
        [0x1f, 0x8b, ..] => {
            let mut unzipped = flate2::read::GzDecoder::new(file);
            bounded_read::read_up_to(&mut unzipped, MAX_BYTES + 1, &mut plain).map_err(|e| {
                match e.kind() {
                    ErrorKind::OutOfMemory => Error::from(e),
                    _ => data_loss(format_args!("cannot be unzipped: {e}")),
                }
            })?;
            plain.as_slice()
        }
        _ => file,
    };
    let (rank, mut rest) = match data {
        [0, 0, 8, rank, rest @ ..] => (*rank, rest),
        [0, 0, kind, ..] => {
            return Err(data_loss(format_args!("an idx file of type {kind:#x}; only bytes (0x8) are read")));
        }
        _ => return Err(data_loss("not an idx file: it must begin with two zero bytes")),
    };
    let mut dims = Vec::with_capacity(rank.into());
    for _ in 0..rank {
        let (size, after) =
            rest.split_first_chunk::<4>().ok_or_else(|| data_loss("the file ends within its sizes"))?;
        dims.push(u32::from_be_bytes(*size) as usize);
        rest = after;
    }
    let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= MAX_BYTES);
    match count {
        Some(n) if n == rest.len() => Ok(Idx { dims, bytes: reserve::copied(rest)? }),
        _ => Err(data_loss(format_args!("sizes {dims:?} do not fit the {} bytes that follow", rest.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn plain_and_gzipped_files_read_alike() {
        let plain = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        zip.write_all(&plain).unwrap();
        let expected = Idx { dims: vec![2, 3], bytes: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(parse(&plain).unwrap(), expected);
        assert_eq!(parse(&zip.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn damaged_files_are_data_loss() {
        let good = [0, 0, 8, 1, 0, 0, 0, 2, 1, 2];
        for end in 0..good.len() {
            assert!(parse(&good[..end]).is_err());
        }
        assert!(parse(&[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
        assert!(parse(&[0x1f, 0x8b, 1, 2, 3]).is_err());
    }
}
