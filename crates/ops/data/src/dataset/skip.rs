//! `SkipDataset`: all but the first elements.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later, ready,
};
use crate::prelude::*;

pub static SKIP_DATASET: Op = Op {
    name: "SkipDataset",
    doc: "The elements of `input_dataset` without the first `count`; none at all if it is negative.",
    inputs: &["input_dataset: variant", "count: int64"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, count) = (input(c, 0)?, c.scalar(1)?);
    emit(c, &[&input], Skip { input: input.clone(), count })
}

struct Skip {
    input: DatasetRef,
    /// Negative: all.
    count: i64,
}

impl Dataset for Skip {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(SkipIter { input: self.input.iterator(c)?, left: self.count }))
    }
    fn cardinality(&self) -> i64 {
        match self.input.cardinality() {
            _ if self.count < 0 => 0,
            n @ (UNKNOWN | INFINITE) => n,
            n => (n - self.count).max(0),
        }
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get((i as i64).saturating_add(self.count), c)
    }
}

struct SkipIter {
    input: Box<dyn Iter>,
    left: i64,
}

impl Iter for SkipIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        match self.left {
            0 => self.input.next(c),
            ..0 => ready(Ok(None)),
            _ => later(async move {
                while self.left > 0 {
                    c.check()?;
                    if self.input.next(c).await?.is_none() {
                        self.left = 0;
                        return Ok(None);
                    }
                    self.left -= 1;
                }
                self.input.next(c).await
            }),
        }
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("left", &mut self.left)?;
            s.input("input", &mut self.input, c).await
        })
    }
}
