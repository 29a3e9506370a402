//! `FlatMapDataset`: the datasets that a function returns for each element, concatenated.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::{Function, Opened};
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, later};
use crate::prelude::*;

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
    emit(c, &[&input], FlatMap { input: input.clone(), f })
}

struct FlatMap {
    input: DatasetRef,
    f: Function,
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
