//! Snappy blocks: checkpoints of the first format, compressed elements of datasets, and compressed TFRecord files have them. In the
//! latter they are a stream, each after its length in four bytes, the highest first.

use crate::{bounded_read, varint};
use snap::raw::{Decoder, Encoder, max_compress_len};
use std::io::{Read, Write};
use thalweg_core::error::{Error, Result, data_loss, invalid_argument};
use thalweg_core::{memory, reserve};

/// At most 64 bytes are copied by an element of three bytes: a block that announces more is damaged, and no memory is taken for it.
const MAX_RATIO: usize = 64;

/// The encoder's hash table.
const TABLE: usize = 32 << 10;

/// The contents of a block.
pub fn decompress(input: &[u8]) -> Result<Vec<u8>> {
    let mut rest = input;
    let length = varint::take_size(&mut rest).ok_or_else(damaged)?;
    if length > rest.len().saturating_mul(MAX_RATIO) {
        return Err(damaged());
    }
    let mut out = reserve::filled(length, 0)?;
    match Decoder::new().decompress(input, &mut out) {
        Ok(n) if n == length => Ok(out),
        _ => Err(damaged()),
    }
}

/// A block of these contents.
pub fn compress(input: &[u8]) -> Result<Vec<u8>> {
    // The length is a number of 32 bits; 0 says that it does not fit.
    let most = max_compress_len(input.len());
    if most == 0 {
        let length = input.len();
        return Err(invalid_argument(format_args!(
            "{length} bytes do not fit in one Snappy block, which has 2^32 - 1 at most"
        )));
    }
    let mut out = reserve::filled(most, 0)?;
    let _room = memory::promise(TABLE)?;
    let n = Encoder::new().compress(input, &mut out).map_err(|e| invalid_argument(format_args!("{e}")))?;
    out.truncate(n);
    Ok(out)
}

/// The contents of a stream of blocks.
pub struct BlockReader<R> {
    input: R,
    block: Vec<u8>,
    at: usize,
}

impl<R: Read> BlockReader<R> {
    pub fn new(input: R) -> Self {
        BlockReader { input, block: Vec::new(), at: 0 }
    }

    /// The next block; an empty one at the end of the stream.
    fn next_block(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        bounded_read::read_up_to(&mut self.input, 4, &mut bytes)?;
        let length = match bytes[..] {
            [] => 0,
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]) as usize,
            _ => return Err(cut_short()),
        };
        bytes.clear();
        bounded_read::read_up_to(&mut self.input, length, &mut bytes)?;
        if bytes.len() < length {
            return Err(cut_short());
        }
        let contents = if length == 0 { Ok(Vec::new()) } else { decompress(&bytes) };
        self.block = contents.map_err(|e| std::io::Error::new(std::io::ErrorKind::InvalidData, e))?;
        self.at = 0;
        Ok(())
    }
}

fn cut_short() -> std::io::Error {
    std::io::ErrorKind::UnexpectedEof.into()
}

impl<R: Read> Read for BlockReader<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.block.len() {
            self.next_block()?;
        }
        let rest = self.block.get(self.at..).unwrap_or_default();
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

/// Bytes in a block of a stream: TensorFlow's readers have room for twice as many.
const BLOCK: usize = 1 << 17;

/// Writes a stream of blocks. `finish` writes the last one.
pub struct BlockWriter<W: Write> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> BlockWriter<W> {
    pub fn new(out: W) -> Self {
        BlockWriter { out, block: Vec::new() }
    }

    pub fn finish(mut self) -> std::io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Write for BlockWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.block.len() >= BLOCK {
            self.flush()?;
        }
        let n = bytes.len().min(BLOCK - self.block.len());
        reserve::extend(&mut self.block, &bytes[..n]).map_err(reserve::as_io)?;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.block.is_empty() {
            let compressed = compress(&self.block).map_err(reserve::as_io)?;
            self.out.write_all(&(compressed.len() as u32).to_be_bytes())?;
            self.out.write_all(&compressed)?;
            self.block.clear();
        }
        self.out.flush()
    }
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

    #[test]
    fn what_is_compressed_comes_back() {
        let mut noise = 1u32;
        let mut next = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        let random: Vec<u8> = (0..200_000).map(|_| next()).collect();
        let numbers: Vec<u8> = (0..40_000u64).flat_map(u64::to_le_bytes).collect();
        for input in [&b""[..], b"a", b"abcd", &[7; 1000], &random, &numbers] {
            let block = compress(input).unwrap();
            assert!(decompress(&block).unwrap() == input);
            let mut writer = BlockWriter::new(Vec::new());
            writer.write_all(input).unwrap();
            let mut read = Vec::new();
            BlockReader::new(&writer.finish().unwrap()[..]).read_to_end(&mut read).unwrap();
            assert!(read == input);
        }
        assert!(compress(&[7; 1000]).unwrap().len() < 60);
        assert!(BlockReader::new(&[0, 0, 0, 9, 1][..]).read_to_end(&mut Vec::new()).is_err());
    }
}
