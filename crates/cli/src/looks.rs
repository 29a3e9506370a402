//! What a file looks like that is of none of our formats: by its first bytes, and its extension.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use thalweg_core::error::{Code, Error};

/// Bytes that tell what a file is.
pub const START: u64 = 300;

const PARQUET: &str = if cfg!(feature = "parquet") {
    "a Parquet file, which thalweg train parquet reads"
} else {
    "a Parquet file; thalweg train parquet reads it where thalweg is built with --features parquet"
};

/// Formats by the bytes at an offset.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (0, b"BM", "a BMP image"),
    (8, b"WEBP", "a WebP image"),
    (8, b"WAVE", "a WAV sound"),
    (
        0,
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, as Keras wrote its models and weights; export it with model.export(DIR)",
    ),
    (4, b"TFL3", "a TensorFlow Lite model; Thalweg runs SavedModels and GraphDefs"),
    (0, b"PAR1", PARQUET),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"\x7fELF", "a program or library"),
    (0, b"%PDF", "a PDF document"),
    (0, b"\x1f\x8b", "gzip-compressed data"),
    (0, b"BZh", "bzip2-compressed data"),
    (0, b"\xfd7zXZ\0", "xz-compressed data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x80\x02", "a Python pickle"),
    (0, b"\x80\x04", "a Python pickle"),
    (0, b"\x80\x05", "a Python pickle"),
    (0, b"\x08\x08\x12", "an ONNX model, perhaps"),
    (0, b"SQLite format 3\0", "an SQLite database"),
];

/// `a PNG image`; `None` if it looks like nothing in particular.
pub fn like(start: &[u8], extension: Option<&str>) -> Option<&'static str> {
    if start.is_empty() {
        return Some("an empty file");
    }
    if start.starts_with(b"PK\x03\x04") {
        return Some(match extension {
            Some("keras") => "a Keras model; export it with model.export(DIR)",
            Some("pt" | "pth") => "a PyTorch file",
            _ => "a zip archive",
        });
    }
    let found = MAGIC.iter().find(|(at, bytes, _)| start.get(*at..).is_some_and(|s| s.starts_with(bytes)));
    found.map(|f| f.2).or_else(|| text(start, extension))
}

/// An error about a file that could not be read as what it should be, with what it looks like instead.
pub fn hinted(e: Error, path: &Path) -> Error {
    if e.code() != Code::DataLoss {
        return e;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    match read.ok().and_then(|_| like(&start, path.extension().and_then(|e| e.to_str()))) {
        Some(like) => e.hint(format_args!("it looks like {like}")),
        None => e,
    }
}

fn text(start: &[u8], extension: Option<&str>) -> Option<&'static str> {
    // The last character may be cut.
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => std::str::from_utf8(start.get(..e.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    Some(match (extension, text.trim_start().chars().next()) {
        (Some("csv"), _) => "a CSV file",
        (_, Some('{' | '[')) => "JSON text",
        _ => "text",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_first_bytes() {
        assert_eq!(like(b"\x89PNG\r\n\x1a\nxx", None), Some("a PNG image"));
        assert_eq!(like(b"", None), Some("an empty file"));
        assert_eq!(like(b"{\"a\": 1}", None), Some("JSON text"));
        assert_eq!(like("caf\u{e9}".as_bytes().split_last().unwrap().1, None), Some("text"));
        assert_eq!(like(b"a,b\n", Some("csv")), Some("a CSV file"));
        assert_eq!(
            like(b"PK\x03\x04..", Some("keras")),
            Some("a Keras model; export it with model.export(DIR)")
        );
        assert_eq!(like(b"\x01\x02\x03", None), None);
    }
}
