//! A list of files, plain or compressed, read as streams: shared by text and record datasets.

use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use thalweg_core::access::Access;
use thalweg_io::durable::at as at_path;
use thalweg_io::record::Compression;

pub type Stream = Box<dyn BufRead + Send>;

/// The files that a dataset reads.
#[derive(Clone)]
pub struct Files {
    pub names: Arc<[Bytes]>,
    pub compression: Compression,
    /// File access of the device that the dataset was made on.
    access: Arc<Access>,
}

const BUFFER: usize = 1 << 16;

impl Files {
    /// Names from input `names`, a scalar or a vector, and the compression from input `compression`.
    pub fn of(c: &OpCall<'_>, names: usize, compression: usize) -> Result<Files> {
        let name = text(c, compression)?;
        let compression = Compression::from_name(&String::from_utf8_lossy(&name))?;
        Ok(Files { compression, ..Files::plain(c, names)? })
    }

    pub fn plain(c: &OpCall<'_>, names: usize) -> Result<Files> {
        let names = c.input(names)?;
        if names.rank() > 1 {
            return Err(invalid!("`filenames` must be a scalar or a vector, got shape {}", names.shape()));
        }
        Ok(Files {
            names: names.strings()?.into(),
            compression: Compression::None,
            access: c.step.device.access.clone(),
        })
    }

    pub fn path(&self, i: usize) -> Option<PathBuf> {
        self.names.get(i).map(path_of)
    }

    /// File number `i` from its beginning; `None` after the last.
    pub fn open(&self, i: usize) -> Result<Option<Stream>> {
        let Some(path) = self.path(i) else { return Ok(None) };
        let plain = BufReader::with_capacity(BUFFER, self.file(&path)?);
        Ok(Some(match self.compression {
            Compression::None => Box::new(plain),
            Compression::Zlib => Box::new(BufReader::with_capacity(BUFFER, ZlibDecoder::new(plain))),
            Compression::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain))),
        }))
    }

    /// Opens a file, not decompressed.
    pub fn file(&self, path: &Path) -> Result<File> {
        files::open(&self.access, path)?.map_err(|e| at(path, e))
    }

    /// The length of file number `i`.
    pub fn size(&self, i: usize) -> Result<u64> {
        let path = self.path(i).unwrap_or_default();
        files::size(&self.access, &path)?.map_err(|e| at(&path, e))
    }

    /// An error of reading file number `i`.
    pub fn error(&self, i: usize, e: std::io::Error) -> Error {
        at(&self.path(i).unwrap_or_default(), e)
    }
}

/// The scalar in input `i`.
pub fn text(c: &OpCall<'_>, i: usize) -> Result<Bytes> {
    match (c.input(i)?.rank(), c.input(i)?.strings()?) {
        (0, [one]) => Ok(one.clone()),
        _ => Err(invalid!("{} must be a scalar, got shape {}", c.input_name(i), c.shape(i)?)),
    }
}

fn at(path: &Path, e: std::io::Error) -> Error {
    // Errors of decoders for corrupt input.
    match e.kind() {
        std::io::ErrorKind::InvalidInput => data_loss(e.to_string()).context(path.display()),
        _ => at_path(path, e),
    }
}

#[cfg(unix)]
fn path_of(name: &Bytes) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn path_of(name: &Bytes) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// The initial capacity for a line.
const LINE: usize = 128;

/// Reads from a stream up to `end`, exclusive, at most as much as a tensor may hold. False at the end of the stream.
pub fn read_until(stream: &mut Stream, end: u8, out: &mut Vec<u8>) -> std::io::Result<bool> {
    use std::io::Read;
    let start = out.len();
    loop {
        // In pieces, with fallible allocation: `read_until` aborts when out of memory.
        let room = (out.len() - start).max(LINE);
        reserve::room(out, room).map_err(reserve::as_io)?;
        let read = stream.by_ref().take(room as u64).read_until(end, out)?;
        if out.len() > start && out.last() == Some(&end) {
            out.pop();
            return Ok(true);
        }
        if read < room {
            return Ok(out.len() > start);
        }
    }
}
