//! A list of files, plain or compressed, read as streams: shared by text and record datasets.

use super::checkpoint::Checkpoint;
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use thalweg_core::access::Access;
use thalweg_io::durable::with_path;
use thalweg_io::record::Compression;
use thalweg_io::snappy::BlockReader;

/// The decompressed bytes of a file.
pub struct Stream {
    input: Box<dyn BufRead + Send>,
    /// How many bytes were read.
    pub at: u64,
}

impl Stream {
    pub fn new(file: File, compression: Compression) -> Stream {
        let raw = BufReader::with_capacity(BUFFER, file);
        let input: Box<dyn BufRead + Send> = match compression {
            Compression::None => Box::new(raw),
            Compression::Zlib => Box::new(BufReader::with_capacity(BUFFER, ZlibDecoder::new(raw))),
            Compression::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw))),
            Compression::Snappy => Box::new(BufReader::with_capacity(BUFFER, BlockReader::new(raw))),
        };
        Stream { input, at: 0 }
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.input.read(out)?;
        self.at = self.at.saturating_add(n as u64);
        Ok(n)
    }
}

impl BufRead for Stream {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.input.fill_buf()
    }
    fn consume(&mut self, n: usize) {
        self.at = self.at.saturating_add(n as u64);
        self.input.consume(n);
    }
}

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
        self.open_at(i, 0)
    }

    /// As `open`, without the first `offset` bytes.
    pub fn open_at(&self, i: usize, offset: u64) -> Result<Option<Stream>> {
        let Some(path) = self.path(i) else { return Ok(None) };
        let mut file = self.file(&path)?;
        let plain = self.compression == Compression::None;
        if plain && offset > 0 {
            file.seek(SeekFrom::Start(offset)).map_err(|e| at(&path, e))?;
        }
        let mut stream = Stream::new(file, self.compression);
        if plain {
            stream.at = offset;
        }
        if !plain && offset > 0 {
            std::io::copy(&mut (&mut stream).take(offset), &mut std::io::sink()).map_err(|e| at(&path, e))?;
        }
        Ok(Some(stream))
    }

    /// Saves or restores the number of a file and the position in it, if it is open.
    pub fn position(&self, s: &mut Checkpoint, file: &mut usize, open: &mut Option<u64>) -> Result<()> {
        s.number("file", file)?;
        let mut offset = open.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
        s.number("offset", &mut offset)?;
        *open = u64::try_from(offset).ok();
        Ok(())
    }

    /// As `position`, for an iterator that has a stream; restoring opens it.
    pub fn checkpoint(&self, s: &mut Checkpoint, file: &mut usize, open: &mut Option<Stream>) -> Result<()> {
        let mut offset = open.as_ref().map(|stream| stream.at);
        self.position(s, file, &mut offset)?;
        if s.restoring() {
            *open = match offset {
                Some(offset) => self.open_at(*file, offset)?,
                None => None,
            };
        }
        Ok(())
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
        _ => with_path(path, e),
    }
}

#[cfg(unix)]
pub fn path_of(name: &Bytes) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
pub fn path_of(name: &Bytes) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// The initial capacity for a line.
const LINE: usize = 128;

/// Reads from a stream up to `end`, exclusive, at most as much as a tensor may hold. False at the end of the stream.
pub fn read_until(stream: &mut Stream, end: u8, out: &mut Vec<u8>) -> std::io::Result<bool> {
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
