//! `AssertCardinalityDataset`: the elements of another dataset, which must be as many as declared.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, emit, input, later};
use crate::prelude::*;

pub static ASSERT_CARDINALITY_DATASET: Op = Op {
    name: "AssertCardinalityDataset",
    doc: "The elements of `input_dataset`; an error unless there are `cardinality` of them.",
    inputs: &["input_dataset: variant", "cardinality: int64"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, expected) = (input(c, 0)?, c.scalar(1)?);
    emit(c, &[&input], Counted { input: input.clone(), expected })
}

struct Counted {
    input: DatasetRef,
    expected: i64,
}

impl Dataset for Counted {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(CountedIter { input: self.input.iterator(c)?, expected: self.expected, seen: 0 }))
    }
    fn cardinality(&self) -> i64 {
        self.expected
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get(i as i64, c)
    }
}

struct CountedIter {
    input: Box<dyn Iter>,
    expected: i64,
    seen: i64,
}

impl Iter for CountedIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let element = self.input.next(c).await?;
            self.seen = self.seen.saturating_add(i64::from(element.is_some()));
            match &element {
                Some(_) if self.expected != INFINITE && self.seen > self.expected => self.wrong("at least"),
                None if self.seen != self.expected => self.wrong("only"),
                _ => Ok(element),
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("seen", &mut self.seen)?;
            s.input("input", &mut self.input, c).await
        })
    }
}

impl CountedIter {
    fn wrong<T>(&self, contained: &str) -> Result<T> {
        let elements = |n: i64| match n {
            INFINITE => "an infinite number of elements".to_string(),
            1 => "1 element".into(),
            n => format!("{n} elements"),
        };
        Err(failed_precondition(format_args!(
            "Input dataset was expected to contain {} but contained {contained} {}.",
            elements(self.expected),
            elements(self.seen)
        )))
    }
}
