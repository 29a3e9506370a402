//! `ConcatenateDataset`: two datasets in sequence.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static CONCATENATE_DATASET: Op = Op {
    name: "ConcatenateDataset",
    doc: "The elements of `input_dataset`, then those of `another_dataset`.",
    inputs: &["input_dataset: variant", "another_dataset: variant"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (first, second) = (input(c, 0)?, input(c, 1)?);
    if first.types != second.types {
        return Err(invalid!(
            "Cannot concatenate datasets of different types: {:?} and {:?}",
            first.types,
            second.types
        ));
    }
    emit(c, &[&first, &second], Concatenate(first.clone(), second.clone()))
}

struct Concatenate(DatasetRef, DatasetRef);

impl Dataset for Concatenate {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let (now, then) = (self.0.iterator(c)?, Some((self.1.clone(), c.without_cancellation())));
        Ok(Box::new(ConcatenateIter { now, then }))
    }
    fn cardinality(&self) -> i64 {
        match (self.0.cardinality(), self.1.cardinality()) {
            (INFINITE, _) | (_, INFINITE) => INFINITE,
            (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
            (a, b) => a.saturating_add(b),
        }
    }
    fn random_access(&self) -> Result<()> {
        self.0.random_access()?;
        self.1.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        let (i, first) = (i as i64, self.0.cardinality());
        if i < first { self.0.get(i, c) } else { self.1.get(i - first, c) }
    }
}

struct ConcatenateIter {
    now: Box<dyn Iter>,
    /// The second dataset, and the context for its iterator.
    then: Option<(DatasetRef, Context)>,
}

impl Iter for ConcatenateIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        if self.then.is_none() {
            return self.now.next(c);
        }
        later(async move {
            if let Some(element) = self.now.next(c).await? {
                return Ok(Some(element));
            }
            if let Some((second, inner)) = self.then.take() {
                self.now = second.iterator(&inner)?;
            }
            self.now.next(c).await
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let mut first = self.then.is_some();
            s.flag("first", &mut first)?;
            if !first && let Some((second, inner)) = self.then.take() {
                self.now = second.iterator(&inner)?;
            }
            s.input("now", &mut self.now, c).await
        })
    }
}
