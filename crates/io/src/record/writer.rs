use super::Compression;
use crate::snappy::BlockWriter;
use crate::{crc, durable};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use thalweg_core::error::Result;

/// Writes records. `finish` ends the file; a compressed file is truncated without it.
pub struct RecordWriter<W: Write> {
    out: Encoder<W>,
}

enum Encoder<W: Write> {
    Plain(W),
    Zlib(ZlibEncoder<W>),
    Gzip(GzEncoder<W>),
    Snappy(BlockWriter<W>),
}

impl RecordWriter<BufWriter<File>> {
    /// Creates a file, or truncates an existing one.
    pub fn create(path: &Path, compression: Compression) -> Result<Self> {
        let file = File::create(path).map_err(|e| durable::with_path(path, e))?;
        Ok(RecordWriter::new(BufWriter::with_capacity(1 << 16, file), compression))
    }
}

impl<W: Write> RecordWriter<W> {
    pub fn new(out: W, compression: Compression) -> Self {
        let level = flate2::Compression::default();
        let out = match compression {
            Compression::None => Encoder::Plain(out),
            Compression::Zlib => Encoder::Zlib(ZlibEncoder::new(out, level)),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(out, level)),
            Compression::Snappy => Encoder::Snappy(BlockWriter::new(out)),
        };
        RecordWriter { out }
    }

    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let length = (record.len() as u64).to_le_bytes();
        let out = self.out.writer();
        out.write_all(&length)?;
        out.write_all(&crc::masked(&length).to_le_bytes())?;
        out.write_all(record)?;
        out.write_all(&crc::masked(record).to_le_bytes())?;
        Ok(())
    }

    /// Flushes all records so far.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.out.writer().flush()?)
    }

    /// Ends the file and returns the underlying writer.
    pub fn finish(self) -> Result<W> {
        let mut out = match self.out {
            Encoder::Plain(out) => out,
            Encoder::Zlib(out) => out.finish()?,
            Encoder::Gzip(out) => out.finish()?,
            Encoder::Snappy(out) => out.finish()?,
        };
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write> Encoder<W> {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Encoder::Plain(out) => out,
            Encoder::Zlib(out) => out,
            Encoder::Gzip(out) => out,
            Encoder::Snappy(out) => out,
        }
    }
}
