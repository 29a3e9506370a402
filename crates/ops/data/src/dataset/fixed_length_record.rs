//! `FixedLengthRecordDataset`, `FixedLengthRecordDatasetV2`: files of fixed-length records.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::files::{Files, Stream};
use super::sequence::{Dataset, Iter, Next, SOURCE, emit_strings, ready};
use crate::prelude::*;
use std::collections::VecDeque;
use std::io::Read;
use thalweg_io::record::Compression;

pub static FIXED_LENGTH_RECORD_DATASET: Op = Op {
    name: "FixedLengthRecordDataset",
    doc: "Records of `record_bytes` bytes from files, without the header and footer of each file.",
    inputs: &[
        "filenames: string",
        "header_bytes: int64",
        "record_bytes: int64",
        "footer_bytes: int64",
        "buffer_size: int64",
    ],
    attrs: &["metadata: string = ''"],
    kernels: cpu!(run),
    ..SOURCE
};

pub static FIXED_LENGTH_RECORD_DATASET_V2: Op = Op {
    name: "FixedLengthRecordDatasetV2",
    inputs: &[
        "filenames: string",
        "header_bytes: int64",
        "record_bytes: int64",
        "footer_bytes: int64",
        "buffer_size: int64",
        "compression_type: string",
    ],
    ..FIXED_LENGTH_RECORD_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let files = if c.inputs.len() > 5 { Files::of(c, 0, 5)? } else { Files::plain(c, 0)? };
    let size = |i: usize, name: &str, least: i64| match c.scalar::<i64>(i)? {
        n if n >= least => Ok(n as u64),
        n => Err(invalid!("`{name}` must be >= {least}, got {n}")),
    };
    let (header, record, footer) =
        (size(1, "header_bytes", 0)?, size(2, "record_bytes", 1)?, size(3, "footer_bytes", 0)?);
    size(4, "buffer_size", 0)?;
    emit_strings(c, Records { files, header, record, footer })
}

#[derive(Clone)]
struct Records {
    files: Files,
    header: u64,
    record: u64,
    footer: u64,
}

impl Dataset for Records {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(RecordsIter { records: self.clone(), at: 0, open: None }))
    }
}

struct RecordsIter {
    records: Records,
    at: usize,
    open: Option<Open>,
}

struct Open {
    stream: Stream,
    /// Look-ahead of the footer's length, which is not part of a record.
    ahead: VecDeque<u8>,
}

impl Iter for RecordsIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        let record = self.record();
        if record.is_err() {
            // As in TensorFlow, the next call opens the same file again and fails again.
            self.open = None;
        }
        ready(record.map(|r| r.map(|bytes| vec![Tensor::string(bytes)])))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(self.position(s))
    }
}

impl RecordsIter {
    fn position(&mut self, s: &mut Checkpoint) -> Result<()> {
        let start = |open: &Open| open.stream.at.saturating_sub(open.ahead.len() as u64);
        let mut offset = self.open.as_ref().map(start);
        self.records.files.position(s, &mut self.at, &mut offset)?;
        if s.restoring() {
            let stream = match offset {
                Some(offset) => self.records.files.open_at(self.at, offset)?,
                None => None,
            };
            self.open = stream.map(|stream| Open { stream, ahead: VecDeque::new() });
        }
        Ok(())
    }

    fn record(&mut self) -> Result<Option<Vec<u8>>> {
        let files = self.records.files.clone();
        loop {
            let at = self.at;
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    self.records.check_size(at)?;
                    let Some(mut stream) = files.open(at)? else { return Ok(None) };
                    let skip = &mut (&mut stream).take(self.records.header);
                    std::io::copy(skip, &mut std::io::sink()).map_err(|e| files.error(at, e))?;
                    none.insert(Open { stream, ahead: VecDeque::new() })
                }
            };
            let want = self.records.record.saturating_add(self.records.footer);
            let missing = want - open.ahead.len() as u64;
            if want > thalweg_core::buffer::limit() as u64 {
                return Err(resource_exhausted(format_args!("records of {want} bytes are over the limit")));
            }
            read_into(&mut open.stream, missing, &mut open.ahead).map_err(|e| files.error(at, e))?;
            if open.ahead.len() as u64 == want {
                return reserve::collect(open.ahead.drain(..self.records.record as usize)).map(Some);
            }
            let left = open.ahead.len() as u64;
            self.open = None;
            if left != self.records.footer {
                return Err(self.records.uneven(at, left.saturating_sub(self.records.footer)));
            }
            self.at += 1;
        }
    }
}

/// Up to `count` bytes more. Memory grows with the bytes read, not with `count`.
fn read_into(stream: &mut impl Read, mut count: u64, out: &mut VecDeque<u8>) -> std::io::Result<()> {
    while count > 0 {
        let next = count.min(out.len().max(4096) as u64);
        reserve::room(out, next as usize).map_err(reserve::as_io)?;
        let read = std::io::copy(&mut stream.take(next), out)?;
        if read < next {
            break;
        }
        count -= read;
    }
    Ok(())
}

impl Records {
    /// Validates the length of an uncompressed file before reading.
    fn check_size(&self, i: usize) -> Result<()> {
        if self.files.path(i).is_none() || self.files.compression != Compression::None {
            return Ok(());
        }
        let size = self.files.size(i)?;
        let body = size.checked_sub(self.header.saturating_add(self.footer));
        match body {
            Some(body) if body % self.record == 0 => Ok(()),
            _ => Err(self.uneven(i, body.unwrap_or(0))),
        }
    }

    fn uneven(&self, i: usize, body: u64) -> Error {
        invalid!(
            "Excluding the header ({} bytes) and footer ({} bytes), input file \"{}\" has body length {body} \
             bytes, which is not an exact multiple of the record length ({} bytes).",
            self.header,
            self.footer,
            self.files.path(i).unwrap_or_default().display(),
            self.record
        )
    }
}
