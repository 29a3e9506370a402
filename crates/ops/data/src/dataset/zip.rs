//! `ZipDataset`: elements of several datasets as tuples.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static ZIP_DATASET: Op = Op {
    name: "ZipDataset",
    doc: "Tuples of elements of all inputs, until the shortest ends.",
    inputs: &["input_datasets: N * variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "N: int >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let inputs: Vec<DatasetRef> = (0..c.inputs.len()).map(|i| input(c, i)).collect::<Result<_>>()?;
    let zip = Zip(inputs.clone());
    emit(c, &inputs.iter().collect::<Vec<_>>(), zip)
}

struct Zip(Vec<DatasetRef>);

impl Dataset for Zip {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ZipIter(self.0.iter().map(|d| d.iterator(c)).collect::<Result<_>>()?)))
    }
    fn cardinality(&self) -> i64 {
        let all: Vec<i64> = self.0.iter().map(|d| d.cardinality()).collect();
        if all.contains(&UNKNOWN) {
            return UNKNOWN;
        }
        all.into_iter().filter(|n| *n != INFINITE).min().unwrap_or(INFINITE)
    }
}

struct ZipIter(Vec<Box<dyn Iter>>);

impl Iter for ZipIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let mut tuple = Vec::new();
            for iterator in &mut self.0 {
                match iterator.next(c).await? {
                    Some(part) => tuple.extend(part),
                    None => return Ok(None),
                }
            }
            Ok(Some(tuple))
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            for (i, input) in self.0.iter_mut().enumerate() {
                s.input(&format!("input{i}"), input, c).await?;
            }
            Ok(())
        })
    }
}
