//! `TFRecordDataset`, `TFRecordDatasetV2`: the records of TFRecord files.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::files::Files;
use super::sequence::{Dataset, Iter, Next, SOURCE, emit_strings, ready};
use crate::prelude::*;
use bytes::Bytes;
use std::io::{Seek, SeekFrom};
use thalweg_io::durable::with_path;
use thalweg_io::record::{Compression, RecordReader};

pub static TF_RECORD_DATASET: Op = Op {
    name: "TFRecordDataset",
    doc: "The records of TFRecord files, in sequence.",
    inputs: &["filenames: string", "compression_type: string", "buffer_size: int64"],
    attrs: &["metadata: string = ''"],
    kernels: cpu!(run),
    ..SOURCE
};

pub static TF_RECORD_DATASET_V2: Op = Op {
    name: "TFRecordDatasetV2",
    doc: "The records of TFRecord files in sequence, each file from a byte offset.",
    inputs: &["filenames: string", "compression_type: string", "buffer_size: int64", "byte_offsets: int64"],
    ..TF_RECORD_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let files = Files::of(c, 0, 1)?;
    let offsets = if c.inputs.len() > 3 { c.input(3)?.to_i64s()? } else { vec![] };
    if !offsets.is_empty() && offsets.len() != files.names.len() {
        return Err(invalid!(
            "`byte_offsets` must have as many elements as `filenames`: {} and {}",
            offsets.len(),
            files.names.len()
        ));
    }
    let offsets: Vec<u64> = offsets
        .iter()
        .map(|n| u64::try_from(*n).map_err(|_| invalid!("`byte_offsets` must not be negative, got {n}")))
        .collect::<Result<_>>()?;
    if files.compression != Compression::None && offsets.iter().any(|n| *n > 0) {
        return Err(invalid!("`byte_offsets` are only for files that are not compressed"));
    }
    emit_strings(c, Records { files, offsets: offsets.into() })
}

#[derive(Clone)]
struct Records {
    files: Files,
    /// The start offset of each file; empty: the beginning.
    offsets: Arc<[u64]>,
}

impl Dataset for Records {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(RecordsIter { records: self.clone(), at: 0, open: None, start: 0 }))
    }
}

struct RecordsIter {
    records: Records,
    at: usize,
    open: Option<RecordReader<'static>>,
    /// Where the open reader began.
    start: u64,
}

impl Iter for RecordsIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(self.record().map(|r| r.map(|bytes| vec![Tensor::from_object(bytes)])))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(self.position(s))
    }
}

impl RecordsIter {
    fn position(&mut self, s: &mut Checkpoint) -> Result<()> {
        let mut offset = self.open.as_ref().map(|open| self.start.saturating_add(open.offset()));
        let files = &self.records.files;
        files.position(s, &mut self.at, &mut offset)?;
        if s.restoring() {
            self.start = offset.unwrap_or(0);
            let name = files.path(self.at).unwrap_or_default().display().to_string();
            // The stream is decompressed already.
            let reader = |stream| RecordReader::new(stream, Compression::None, name);
            self.open = match offset {
                Some(offset) => files.open_at(self.at, offset)?.map(reader),
                None => None,
            };
        }
        Ok(())
    }

    fn record(&mut self) -> Result<Option<Bytes>> {
        loop {
            let reader = match &mut self.open {
                Some(reader) => reader,
                none => match self.records.open(self.at)? {
                    Some(reader) => {
                        self.start = self.records.offsets.get(self.at).copied().unwrap_or(0);
                        none.insert(reader)
                    }
                    None => return Ok(None),
                },
            };
            match reader.next() {
                Some(Ok(record)) => return Ok(Some(record)),
                // The rest of a corrupt file is skipped; the next file may be intact.
                ended => {
                    self.open = None;
                    self.at += 1;
                    if let Some(Err(e)) = ended {
                        return Err(e);
                    }
                }
            }
        }
    }
}

impl Records {
    fn open(&self, i: usize) -> Result<Option<RecordReader<'static>>> {
        let Some(path) = self.files.path(i) else { return Ok(None) };
        let mut file = self.files.file(&path)?;
        if let Some(offset) = self.offsets.get(i).filter(|n| **n > 0) {
            file.seek(SeekFrom::Start(*offset)).map_err(|e| with_path(&path, e))?;
        }
        Ok(Some(RecordReader::new(file, self.files.compression, path.display().to_string())))
    }
}
