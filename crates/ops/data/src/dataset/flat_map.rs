//! `FlatMapDataset`: the datasets that a function returns for each element, concatenated.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::{Function, Opened};
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;
use std::sync::OnceLock;

pub static FLAT_MAP_DATASET: Op = Op {
    name: "FlatMapDataset",
    doc: "The elements of the datasets that `f` makes of each element of `input_dataset`.",
    inputs: &["input_dataset: variant", "other_arguments: Targuments"],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, f) = (input(c, 0)?, Function::of(c, "f", 1)?);
    emit(c, &[&input], FlatMap { input: input.clone(), f, counted: OnceLock::new() })
}

struct FlatMap {
    input: DatasetRef,
    f: Function,
    /// The cardinality, once it was counted.
    counted: OnceLock<i64>,
}

impl FlatMap {
    /// The sum of the cardinalities of all inner datasets, as far as they are known without counting, as in TensorFlow.
    async fn sum(&self, c: &Context) -> Result<i64> {
        // Its elements are never all counted.
        if self.input.cardinality() == INFINITE {
            return Ok(UNKNOWN);
        }
        let c = &c.deeper()?;
        let (mut input, mut sum) = (self.input.iterator(c)?, 0i64);
        while let Some(element) = input.next(c).await? {
            c.check()?;
            let inner = Function::dataset(&self.f.call(c, element).await?)?;
            match inner.cardinality() {
                n @ (INFINITE | UNKNOWN) => return Ok(n),
                n => sum = sum.saturating_add(n),
            }
        }
        Ok(sum)
    }
}

impl Dataset for FlatMap {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let inner = c.without_cancellation();
        Ok(Box::new(FlatMapIter {
            input: Some(self.input.iterator(c)?),
            f: self.f.clone(),
            now: None,
            inner,
        }))
    }
    fn cardinality(&self) -> i64 {
        self.counted.get().copied().unwrap_or(UNKNOWN)
    }
    fn count<'a>(&'a self, c: &'a Context) -> Option<Work<'a>> {
        if self.counted.get().is_some() {
            return None;
        }
        Some(work(async move {
            let sum = self.sum(c).await?;
            self.counted.get_or_init(|| sum);
            Ok(())
        }))
    }
}

struct FlatMapIter {
    input: Option<Box<dyn Iter>>,
    f: Function,
    /// The iterator over the current inner dataset.
    now: Option<Opened>,
    /// The context of inner iterators, at this depth.
    inner: Context,
}

impl Iter for FlatMapIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                if let Some(now) = &mut self.now {
                    match now.iter.next(c).await? {
                        Some(element) => return Ok(Some(element)),
                        None => self.now = None,
                    }
                }
                let Some(input) = &mut self.input else { return Ok(None) };
                match input.next(c).await? {
                    Some(element) => {
                        self.now = Some(Opened::of(&self.f, element, c, &self.inner).await?);
                    }
                    None => self.input = None,
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.input_until_end("input", &mut self.input, c).await?;
            Opened::checkpoint(&mut self.now, "now", s, (&self.f, &self.inner), c).await
        })
    }
}
