//! `FilterDataset`, `TakeWhileDataset`: elements for which a predicate is true; all, or up to the first false.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::Function;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, later};
use crate::prelude::*;

pub static FILTER_DATASET: Op = Op {
    name: "FilterDataset",
    doc: "The elements of `input_dataset` that `predicate` is true of.",
    inputs: &["input_dataset: variant", "other_arguments: Targuments"],
    attrs: &[
        "predicate: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(filter),
    ..DATASET
};

pub static PARALLEL_FILTER_DATASET: Op = Op {
    name: "ParallelFilterDataset",
    inputs: &["input_dataset: variant", "other_arguments: Targuments", "num_parallel_calls: int64"],
    attrs: &[
        "predicate: func",
        "deterministic: string = 'default'",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    ..FILTER_DATASET
};

pub static TAKE_WHILE_DATASET: Op = Op {
    name: "TakeWhileDataset",
    doc: "The elements of `input_dataset` before the first that `predicate` is false of.",
    kernels: cpu!(take_while),
    ..FILTER_DATASET
};

pub static EXPERIMENTAL_TAKE_WHILE_DATASET: Op = Op {
    name: "ExperimentalTakeWhileDataset",
    attrs: &[
        "predicate: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..TAKE_WHILE_DATASET
};

fn filter(c: &mut OpCall<'_>) -> Result<()> {
    make(c, false)
}

fn take_while(c: &mut OpCall<'_>) -> Result<()> {
    make(c, true)
}

fn make(c: &mut OpCall<'_>, first_ends: bool) -> Result<()> {
    let (input, predicate) = (input(c, 0)?, Function::of(c, "predicate", 1)?);
    emit(c, &[&input], Filter { input: input.clone(), predicate, first_ends })
}

struct Filter {
    input: DatasetRef,
    predicate: Function,
    /// Ends the dataset at the first false.
    first_ends: bool,
}

impl Dataset for Filter {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(FilterIter {
            input: Some(self.input.iterator(c)?),
            predicate: self.predicate.clone(),
            first_ends: self.first_ends,
        }))
    }
}

struct FilterIter {
    input: Option<Box<dyn Iter>>,
    predicate: Function,
    first_ends: bool,
}

impl Iter for FilterIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while let Some(input) = &mut self.input {
                c.check()?;
                let Some(element) = input.next(c).await? else { break };
                if Function::truth(&self.predicate.call(c, element.clone()).await?)? {
                    return Ok(Some(element));
                }
                if self.first_ends {
                    break;
                }
            }
            self.input = None;
            Ok(None)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input_until_end("input", &mut self.input, c).await })
    }
}
