//! The tensors of a checkpoint; all data is read to verify the CRCs.

use super::{count, titled};
use std::path::Path;
use thalweg_core::error::Result;
use thalweg_io::bundle::BundleReader;

pub fn show(prefix: &Path) -> Result<String> {
    let mut reader = BundleReader::open(prefix)?;
    let (mut rows, mut bytes, mut elements) = (Vec::new(), 0, 0);
    for name in reader.names() {
        let entry = match reader.entry(&name) {
            Ok(entry) => entry,
            // A type that only newer versions have: the others are still shown.
            Err(e) => {
                rows.push(vec![name, "?".into(), e.message().to_string(), String::new()]);
                continue;
            }
        };
        let size = match entry.slices.len() {
            0 => entry.bytes.to_string(),
            n => count(n, "slice"),
        };
        bytes += entry.bytes;
        elements += entry.shape.elements();
        rows.push(vec![name, entry.dtype.to_string(), entry.shape.to_string(), size]);
    }
    let whole = match reader.verify() {
        Ok(()) => "whole: every checksum is right".to_string(),
        Err(e) => format!("DAMAGED: {}", e.message()),
    };
    Ok(format!(
        "checkpoint {}\n\n{}\n{}, {elements} elements, {bytes} bytes in {}; {whole}\n",
        prefix.display(),
        titled(&["tensor", "type", "shape", "bytes"], "LLLR", rows.iter().cloned()),
        count(rows.len(), "tensor"),
        count(reader.shards(), "shard"),
    ))
}
