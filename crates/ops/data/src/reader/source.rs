//! What readers read: the records of one file at a time.

use crate::dataset::files::{Stream, read_until};
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use thalweg_core::access::Access;
use thalweg_io::durable::with_path;
use thalweg_io::record::{Compression, RecordReader};

/// A record: its key, and its value.
pub type Record = (Bytes, Bytes);

/// The kind of a reader, with its attrs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    Lines {
        skip: u64,
    },
    Records(Compression),
    Fixed {
        header: u64,
        record: u64,
        footer: u64,
        hop: u64,
        compression: Compression,
    },
    WholeFile,
    /// Names of work as they are.
    Identity,
}

/// A file being read.
pub struct Work {
    name: Bytes,
    path: PathBuf,
    state: State,
}

enum State {
    Lines {
        stream: Stream,
        line: u64,
    },
    Records {
        reader: RecordReader<'static>,
        failed: Option<Error>,
    },
    Fixed {
        stream: Stream,
        ahead: VecDeque<u8>,
        record: u64,
        footer: u64,
        hop: u64,
        number: u64,
    },
    /// Its only record, until it is read.
    Once(Option<Bytes>),
}

impl Source {
    pub fn kind(self) -> &'static str {
        match self {
            Source::Lines { .. } => "TextLineReader",
            Source::Records(_) => "TFRecordReader",
            Source::Fixed { .. } => "FixedLengthRecordReader",
            Source::WholeFile => "WholeFileReader",
            Source::Identity => "IdentityReader",
        }
    }

    /// Whether its state can be saved.
    pub fn is_restorable(self) -> bool {
        matches!(self, Source::WholeFile | Source::Identity)
    }

    pub fn start(self, name: &Bytes, access: &Access) -> Result<Work> {
        let path = path_of(name)?;
        let open = |path: &Path| files::open(access, path)?.map_err(|e| with_path(path, e));
        let state = match self {
            Source::Lines { skip } => {
                let mut stream = Stream::new(open(&path)?, Compression::None);
                let mut line = 0;
                while line < skip
                    && read_until(&mut stream, b'\n', &mut Vec::new()).map_err(|e| with_path(&path, e))?
                {
                    line += 1;
                }
                State::Lines { stream, line }
            }
            Source::Records(compression) => {
                let shown = reserve::text(format_args!("{}", path.display()))?;
                State::Records { reader: RecordReader::new(open(&path)?, compression, shown), failed: None }
            }
            Source::Fixed { header, record, footer, hop, compression } => {
                let mut stream = Stream::new(open(&path)?, compression);
                skip_bytes(&mut stream, header).map_err(|e| with_path(&path, e))?;
                State::Fixed { stream, ahead: VecDeque::new(), record, footer, hop, number: 0 }
            }
            Source::WholeFile => State::Once(Some(Bytes::from(files::read(access, &path)?))),
            Source::Identity => State::Once(Some(name.clone())),
        };
        Ok(Work { name: name.clone(), path, state })
    }
}

impl Work {
    /// The next record, and whether the work is known to have ended.
    pub fn next(&mut self) -> Result<(Option<Record>, bool)> {
        let name = &self.name;
        let key = |n: u64| -> Result<Bytes> {
            Ok(Bytes::from(reserve::text(format_args!("{}:{n}", Lossy(name)))?.into_bytes()))
        };
        let ended = Ok((None, true));
        match &mut self.state {
            State::Lines { stream, line } => {
                let mut text = Vec::new();
                if !read_until(stream, b'\n', &mut text).map_err(|e| with_path(&self.path, e))? {
                    return ended;
                }
                text.retain(|b| *b != b'\r');
                *line += 1;
                Ok((Some((key(*line)?, text.into())), false))
            }
            State::Records { reader, failed } => {
                if let Some(e) = failed {
                    return Err(e.clone());
                }
                let offset = reader.offset();
                match reader.next() {
                    Some(Ok(record)) => Ok((Some((key(offset)?, record)), false)),
                    Some(Err(e)) => Err(failed.insert(e).clone()),
                    None => ended,
                }
            }
            State::Fixed { stream, ahead, record, footer, hop, number } => {
                let want = record.saturating_add(*footer);
                if want > thalweg_core::buffer::limit() as u64 {
                    return Err(resource_exhausted(format_args!(
                        "records of {want} bytes are over the limit"
                    )));
                }
                fill(stream, want, ahead).map_err(|e| with_path(&self.path, e))?;
                if (ahead.len() as u64) < want {
                    return ended;
                }
                let value = reserve::collect(ahead.iter().take(*record as usize).copied())?;
                let held = (*hop).min(ahead.len() as u64);
                ahead.drain(..held as usize);
                skip_bytes(stream, *hop - held).map_err(|e| with_path(&self.path, e))?;
                *number += 1;
                Ok((Some((key(*number - 1)?, value.into())), false))
            }
            State::Once(value) => match value.take() {
                Some(value) => Ok((Some((self.name.clone(), value)), true)),
                None => ended,
            },
        }
    }
}

fn path_of(name: &Bytes) -> Result<PathBuf> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(PathBuf::from(reserve::text(format_args!("{text}"))?)),
        Err(_) => Err(invalid!("names of files must be UTF-8 text, got '{}'", name.escape_ascii())),
    }
}

fn skip_bytes(stream: &mut Stream, n: u64) -> std::io::Result<()> {
    std::io::copy(&mut stream.by_ref().take(n), &mut std::io::sink()).map(drop)
}

/// Reads on until there are `want` bytes, as far as the file goes. Memory grows with the bytes read.
fn fill(stream: &mut Stream, want: u64, out: &mut VecDeque<u8>) -> std::io::Result<()> {
    while (out.len() as u64) < want {
        let next = (want - out.len() as u64).min(out.len().max(4096) as u64);
        reserve::room(out, next as usize).map_err(reserve::as_io)?;
        if std::io::copy(&mut stream.by_ref().take(next), out)? < next {
            break;
        }
    }
    Ok(())
}
