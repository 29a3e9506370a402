//! TFRecord files: records of length, masked CRC32C of the length, data, masked CRC32C of the data; optionally compressed.
//!
//! ```
//! use thalweg_io::record::{Compression, RecordReader, RecordWriter};
//!
//! let mut writer = RecordWriter::new(Vec::new(), Compression::None);
//! writer.write(b"one")?;
//! let file = writer.finish()?;
//! let records: Result<Vec<_>, _> = RecordReader::new(&file[..], Compression::None, "memory").collect();
//! assert_eq!(records?, ["one"]);
//! # Ok::<(), thalweg_core::error::Error>(())
//! ```

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::RecordReader;
pub use writer::RecordWriter;

use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Zlib,
    Gzip,
    Snappy,
}

impl Compression {
    /// Parses TensorFlow's name: empty, `ZLIB`, `GZIP` or `SNAPPY`.
    pub fn from_name(name: &str) -> Result<Compression> {
        match name {
            "" => Ok(Compression::None),
            "ZLIB" => Ok(Compression::Zlib),
            "GZIP" => Ok(Compression::Gzip),
            "SNAPPY" => Ok(Compression::Snappy),
            other => Err(unknown(other)),
        }
    }

    /// Detects the compression of a file from its first bytes; `None` if it is no TFRecord file.
    pub fn of_bytes(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            _ if starts_with_record(start) => Some(Compression::None),
            [0x78, second, ..] if (0x7800 + u32::from(*second)).is_multiple_of(31) => Some(Compression::Zlib),
            _ => None,
        }
    }
}

fn starts_with_record(start: &[u8]) -> bool {
    start.get(..HEADER).is_some_and(|h| crate::crc::masked(&h[..8]).to_le_bytes() == h[8..])
}

fn unknown(name: &str) -> Error {
    invalid!("no compression is called '{name}'; there are '' (none), 'ZLIB', 'GZIP' and 'SNAPPY'")
}

/// Bytes before the data: length, and its CRC.
const HEADER: usize = 12;
/// Bytes after the data: its CRC.
const FOOTER: usize = 4;
