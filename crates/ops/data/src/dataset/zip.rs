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
    fn random_access(&self) -> Result<()> {
        self.0.iter().try_for_each(|d| d.random_access())
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        later(async move {
            let mut tuple = Vec::new();
            for dataset in &self.0 {
                tuple.extend(dataset.get(i as i64, c).await?.unwrap_or_default());
            }
            Ok(Some(tuple))
        })
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
