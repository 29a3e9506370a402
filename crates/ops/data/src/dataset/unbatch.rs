//! `UnbatchDataset`: the rows of batches as elements.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::rebatch::rows_of;
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, Tuple, UNKNOWN, emit, input, later,
};
use crate::prelude::*;
use crate::rows::row;

pub static UNBATCH_DATASET: Op = Op {
    name: "UnbatchDataset",
    doc: "The rows of the elements of `input_dataset`, one after another.",
    inputs: &["input_dataset: variant"],
    kernels: cpu!(run),
    ..DATASET
};

pub static EXPERIMENTAL_UNBATCH_DATASET: Op = Op {
    name: "ExperimentalUnbatchDataset",
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    ..UNBATCH_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    emit(c, &[&input], Unbatch(input.clone()))
}

struct Unbatch(DatasetRef);

impl Dataset for Unbatch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(Rows { input: Some(self.0.iterator(c)?), batch: None, at: 0 }))
    }
    fn cardinality(&self) -> i64 {
        let known = |shape: &PartialShape| shape.rank().filter(|r| *r > 0).map(|_| shape.dim(0));
        let size = self.0.shapes.iter().filter_map(known).find(|n| *n > 0);
        match (self.0.cardinality(), size) {
            (n @ (UNKNOWN | INFINITE), _) => n,
            (n, Some(size)) => n.saturating_mul(size),
            _ => UNKNOWN,
        }
    }
}

struct Rows {
    input: Option<Box<dyn Iter>>,
    batch: Option<Tuple>,
    at: usize,
}

impl Iter for Rows {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                if let Some(batch) = &self.batch {
                    if self.at < rows_of(batch)? {
                        self.at += 1;
                        return batch.iter().map(|t| row(t, self.at - 1)).collect::<Result<_>>().map(Some);
                    }
                    self.batch = None;
                }
                let Some(input) = &mut self.input else { return Ok(None) };
                match input.next(c).await? {
                    Some(batch) => {
                        rows_of(&batch)?;
                        (self.batch, self.at) = (Some(batch), 0);
                    }
                    None => self.input = None,
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("at", &mut self.at)?;
            s.element("batch", &mut self.batch)?;
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}
