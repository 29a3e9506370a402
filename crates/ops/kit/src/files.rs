//! File access as the `Access` of the device allows: the only module of this crate that opens files. `clippy.toml` forbids it elsewhere.

#![allow(clippy::disallowed_methods)]

use crate::prelude::*;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use thalweg_core::access::Access;
use thalweg_io::access::{Allowed, local, prefix_to_read, prefix_to_write, to_read, to_write};
use thalweg_io::bundle::{BundleReader, BundleWriter, Merge, merge};
use thalweg_io::durable::{self, with_path};
use thalweg_io::event::EventWriter;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::{bounded_read, glob};

/// All bytes of a file.
pub fn read(access: &Access, path: &Path) -> Result<Vec<u8>> {
    bounded_read::read(&to_read(access, path)?)
}

/// Opens a file for reading.
pub fn open(access: &Access, path: &Path) -> Result<std::io::Result<File>> {
    Ok(File::open(&*to_read(access, path)?))
}

/// The length of a file.
pub fn size(access: &Access, path: &Path) -> Result<std::io::Result<u64>> {
    Ok(std::fs::metadata(&*to_read(access, path)?).map(|m| m.len()))
}

/// Writes a file, replacing an existing one; creates directories as needed.
pub fn write(access: &Access, path: &Path, contents: &[u8]) -> Result<()> {
    let path = to_write(access, path)?;
    let made = path.parent().map_or(Ok(()), |parent| match std::fs::create_dir_all(parent) {
        // The parent, or one above it, is a file.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(ErrorKind::NotADirectory.into()),
        made => made,
    });
    made.and_then(|()| std::fs::write(&*path, contents)).map_err(|e| with_path(&path, e))
}

/// Writes a file whole: a crash leaves the old one or the new one.
pub fn replace(access: &Access, path: &Path, contents: &[u8]) -> Result<()> {
    durable::write(&to_write(access, path)?, contents)
}

/// Appends to a file, which is made if there is none.
pub fn append(access: &Access, path: &Path, contents: &[u8]) -> Result<()> {
    let path = to_write(access, path)?;
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&*path);
    file.and_then(|mut f| f.write_all(contents)).map_err(|e| with_path(&path, e))
}

/// A new file of records, or an existing one emptied.
pub fn write_records(
    access: &Access,
    path: &Path,
    compression: Compression,
) -> Result<RecordWriter<BufWriter<File>>> {
    RecordWriter::create(&to_write(access, path)?, compression)
}

/// Makes a file that must not exist: AlreadyExists if it does.
pub fn create_new(access: &Access, path: &Path, contents: &[u8]) -> Result<()> {
    let path = to_write(access, path)?;
    let made = File::create_new(&*path).and_then(|mut f| f.write_all(contents));
    made.map_err(|e| with_path(&path, e))
}

/// Removes a file; no error if it is missing.
pub fn remove(access: &Access, path: &Path) -> Result<()> {
    let path = to_write(access, path)?;
    match std::fs::remove_file(&*path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(with_path(&path, e)),
        _ => Ok(()),
    }
}

/// Makes a directory, and those above it.
pub fn create_directory(access: &Access, path: &Path) -> Result<()> {
    durable::create_directory(&to_write(access, path)?)
}

pub fn exists(access: &Access, path: &Path) -> Result<bool> {
    Ok(to_read(access, path)?.exists())
}

/// A new event file in a directory.
pub fn write_events(access: &Access, directory: &Path, suffix: &str) -> Result<EventWriter> {
    EventWriter::create(&to_write(access, directory)?, suffix)
}

/// The files that match and may be read. A pattern with a scheme finds names with it.
pub fn matching(access: &Access, pattern: &str) -> Result<Vec<PathBuf>> {
    let plain = local(Path::new(pattern))?.to_str().unwrap_or(pattern);
    let scheme = pattern.strip_suffix(plain).unwrap_or_default();
    to_read(access, fixed_part(plain))?;
    let mut found = glob::matching(plain)?;
    found.retain(|path| to_read(access, path).is_ok());
    if !scheme.is_empty() {
        for path in &mut found {
            *path = PathBuf::from(reserve::text(format_args!("{scheme}{}", path.display()))?);
        }
    }
    Ok(found)
}

/// The directory before the first wildcard.
fn fixed_part(pattern: &str) -> &Path {
    let end = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    let before = pattern.get(..end).unwrap_or_default();
    Path::new(if end < pattern.len() { before.rfind('/').map_or("", |i| &before[..=i]) } else { before })
}

pub fn read_checkpoint(access: &Access, prefix: &Path) -> Result<BundleReader> {
    BundleReader::open(&prefix_to_read(access, prefix)?)
}

pub fn write_checkpoint(access: &Access, prefix: &Path) -> Result<BundleWriter> {
    BundleWriter::create(&prefix_to_write(access, prefix)?)
}

/// Parts are read, and then moved.
pub fn merge_checkpoints(
    access: &Access,
    parts: Vec<PathBuf>,
    destination: &Path,
    options: &Merge,
) -> Result<()> {
    let part = |path: PathBuf| -> Result<PathBuf> {
        let allowed: Allowed = prefix_to_write(access, &path)?;
        prefix_to_read(access, &path)?;
        Ok(allowed.to_path_buf())
    };
    let parts = parts.into_iter().map(part).collect::<Result<Vec<_>>>()?;
    merge(&parts, &prefix_to_write(access, destination)?, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_part_of_a_pattern_is_a_directory_or_all_of_it() {
        let parts = [("/a/b/*.txt", "/a/b/"), ("/*", "/"), ("*", ""), ("/a/b", "/a/b"), ("a/b?/../c", "a/")];
        for (pattern, fixed) in parts {
            assert_eq!(fixed_part(pattern), Path::new(fixed), "{pattern}");
        }
    }
}
