//! `TextLineDataset`: the lines of text files.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::files::{Files, Stream, read_until};
use super::sequence::{Dataset, Iter, Next, SOURCE, emit_strings, ready};
use crate::prelude::*;

pub static TEXT_LINE_DATASET: Op = Op {
    name: "TextLineDataset",
    doc: "The lines of files, without their ends.",
    inputs: &["filenames: string", "compression_type: string", "buffer_size: int64"],
    attrs: &["metadata: string = ''"],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let files = Files::of(c, 0, 1)?;
    emit_strings(c, Lines(files))
}

struct Lines(Files);

impl Dataset for Lines {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(LinesIter { files: self.0.clone(), at: 0, open: None }))
    }
}

struct LinesIter {
    files: Files,
    /// The number of the open file, or of the next.
    at: usize,
    open: Option<Stream>,
}

impl Iter for LinesIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(self.line().map(|line| line.map(|text| vec![Tensor::string(text)])))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(self.files.checkpoint(s, &mut self.at, &mut self.open))
    }
}

impl LinesIter {
    fn line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let stream = match &mut self.open {
                Some(stream) => stream,
                // A file that cannot be opened is retried by the next call, as in TensorFlow.
                none => match self.files.open(self.at)? {
                    Some(stream) => none.insert(stream),
                    None => return Ok(None),
                },
            };
            let mut line = Vec::new();
            match read_until(stream, b'\n', &mut line) {
                Ok(true) => {
                    // As in TensorFlow, all carriage returns are removed.
                    line.retain(|b| *b != b'\r');
                    return Ok(Some(line));
                }
                Ok(false) => {
                    self.open = None;
                    self.at += 1;
                }
                Err(e) => {
                    let e = self.files.error(self.at, e);
                    self.open = None;
                    self.at += 1;
                    return Err(e);
                }
            }
        }
    }
}
