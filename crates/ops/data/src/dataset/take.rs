//! `TakeDataset`: the first elements.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, ready};
use crate::prelude::*;

pub static TAKE_DATASET: Op = Op {
    name: "TakeDataset",
    doc: "The first `count` elements of `input_dataset`; all of them if it is negative.",
    inputs: &["input_dataset: variant", "count: int64"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, count) = (input(c, 0)?, c.scalar(1)?);
    emit(c, &[&input], Take { input: input.clone(), count })
}

struct Take {
    input: DatasetRef,
    /// Negative: all.
    count: i64,
}

impl Dataset for Take {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(TakeIter { input: self.input.iterator(c)?, left: self.count }))
    }
    fn cardinality(&self) -> i64 {
        match self.input.cardinality() {
            n if self.count < 0 => n,
            _ if self.count == 0 => 0,
            UNKNOWN => UNKNOWN,
            INFINITE => self.count,
            n => n.min(self.count),
        }
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get(i as i64, c)
    }
}

struct TakeIter {
    input: Box<dyn Iter>,
    left: i64,
}

impl Iter for TakeIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        if self.left == 0 {
            return ready(Ok(None));
        }
        self.left = if self.left > 0 { self.left - 1 } else { self.left };
        self.input.next(c)
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("left", &mut self.left)?;
            s.input("input", &mut self.input, c).await
        })
    }
}
