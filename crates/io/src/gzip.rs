//! Bytes as a gzip file.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use thalweg_core::error::Result;

/// The compressed bytes.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(bytes)?;
    Ok(file.finish()?)
}
