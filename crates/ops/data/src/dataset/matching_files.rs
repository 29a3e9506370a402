//! `MatchingFilesDataset`: the names of files, by globs.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, Element, Iter, Next, SOURCE, emit_strings, ready};
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::collections::VecDeque;
use thalweg_core::access::Access;

pub static MATCHING_FILES_DATASET: Op = Op {
    name: "MatchingFilesDataset",
    doc: "The names of the files that match the patterns, in order for each.",
    inputs: &["patterns: string"],
    attrs: &[],
    kernels: cpu!(run),
    ..SOURCE
};

pub static EXPERIMENTAL_MATCHING_FILES_DATASET: Op =
    Op { name: "ExperimentalMatchingFilesDataset", ..MATCHING_FILES_DATASET };

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let patterns = c.input(0)?;
    if patterns.rank() > 1 {
        return Err(invalid!("`patterns` must be a scalar or a vector."));
    }
    let text = |p: &Bytes| match std::str::from_utf8(p) {
        Ok(text) => reserve::text(format_args!("{text}")),
        Err(_) => Err(invalid!("a pattern must be UTF-8 text, got {:?}", String::from_utf8_lossy(p))),
    };
    let patterns = reserve::try_collect(patterns.strings()?.iter().map(text))?;
    let access = c.step.device.access.clone();
    emit_strings(c, Matching { patterns: patterns.into(), access })
}

struct Matching {
    patterns: Arc<[String]>,
    access: Arc<Access>,
}

impl Dataset for Matching {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(MatchingIter {
            patterns: self.patterns.clone(),
            access: self.access.clone(),
            next: 0,
            given: 0,
            found: VecDeque::new(),
        }))
    }
}

struct MatchingIter {
    patterns: Arc<[String]>,
    access: Arc<Access>,
    /// The number of the next pattern.
    next: usize,
    given: usize,
    /// Names of the last pattern that are yet to come.
    found: VecDeque<Bytes>,
}

impl MatchingIter {
    fn step(&mut self) -> Element {
        loop {
            if let Some(name) = self.found.pop_front() {
                self.given += 1;
                return Ok(Some(vec![Tensor::from_object(name)]));
            }
            let Some(pattern) = self.patterns.get(self.next) else {
                return if self.given == 0 {
                    Err(not_found("Don't find any matched files"))
                } else {
                    Ok(None)
                };
            };
            let mut names = files::matching(&self.access, pattern)?;
            names.sort_unstable();
            reserve::room(&mut self.found, names.len())?;
            self.found
                .extend(names.into_iter().map(|n| Bytes::from(n.into_os_string().into_encoded_bytes())));
            self.next += 1;
        }
    }
}

impl Iter for MatchingIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(self.step())
    }

    /// The position is how many names were given: the files are looked for again.
    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        let mut restore = || {
            let mut given = self.given;
            s.number("given", &mut given)?;
            while s.restoring() && self.given < given && self.step()?.is_some() {}
            Ok(())
        };
        done(restore())
    }
}
