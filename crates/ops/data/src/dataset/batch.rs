//! `BatchDataset`, `BatchDatasetV2`, `ParallelBatchDataset`: consecutive elements stacked.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, Tuple, UNKNOWN, emit, input, later,
};
use crate::prelude::*;
use crate::rows::stack;

pub static BATCH_DATASET: Op = Op {
    name: "BatchDataset",
    doc: "Batches of `batch_size` elements of `input_dataset`, stacked; the last batch may be smaller.",
    inputs: &["input_dataset: variant", "batch_size: int64"],
    kernels: cpu!(run),
    ..DATASET
};

pub static BATCH_DATASET_V2: Op = Op {
    name: "BatchDatasetV2",
    doc: "Batches of `batch_size` elements of `input_dataset`, stacked; a smaller last batch may be dropped.",
    inputs: &["input_dataset: variant", "batch_size: int64", "drop_remainder: bool"],
    attrs: &[
        "parallel_copy: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    ..BATCH_DATASET
};

pub static PARALLEL_BATCH_DATASET: Op = Op {
    name: "ParallelBatchDataset",
    inputs: &[
        "input_dataset: variant",
        "batch_size: int64",
        "num_parallel_calls: int64",
        "drop_remainder: bool",
    ],
    attrs: &[
        "parallel_copy: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "deterministic: string = 'default'",
        "metadata: string = ''",
    ],
    ..BATCH_DATASET_V2
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let drop_remainder = c.inputs.len() > 2 && c.scalar(c.inputs.len() - 1)?;
    let (input, size) = (input(c, 0)?, batch_size(c.scalar(1)?)?);
    emit(c, &[&input], Batch { input: input.clone(), size, drop_remainder })
}

pub fn batch_size(n: i64) -> Result<usize> {
    match usize::try_from(n) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(invalid!("Batch size must be greater than zero, got {n}.")),
    }
}

/// The number of batches of this size.
pub fn batches(elements: i64, size: usize, drop_remainder: bool) -> i64 {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    match elements {
        n @ (UNKNOWN | INFINITE) => n,
        n => n / size + i64::from(!drop_remainder && n % size > 0),
    }
}

pub struct Batch {
    pub input: DatasetRef,
    pub size: usize,
    pub drop_remainder: bool,
}

impl Dataset for Batch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = Some(self.input.iterator(c)?);
        Ok(Box::new(Batches { input, size: self.size, drop_remainder: self.drop_remainder, make: stacked }))
    }
    fn cardinality(&self) -> i64 {
        batches(self.input.cardinality(), self.size, self.drop_remainder)
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        later(async move {
            let first = i.saturating_mul(self.size) as i64;
            let end = first.saturating_add(self.size as i64).min(self.input.cardinality());
            let mut batch = ElementBuffer::default();
            for at in first..end {
                c.check()?;
                batch.push(self.input.get(at, c).await?.unwrap_or_default())?;
            }
            stacked(batch.into_items()).map(Some)
        })
    }
}

/// Collects elements; `F` combines them to batches.
pub struct Batches<F> {
    /// `None` once it has ended.
    pub input: Option<Box<dyn Iter>>,
    pub size: usize,
    pub drop_remainder: bool,
    pub make: F,
}

impl<F: Fn(Vec<Tuple>) -> Result<Tuple> + Send> Iter for Batches<F> {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let batch = self.collect(c).await?;
            if batch.is_empty() || batch.len() < self.size && self.drop_remainder {
                return Ok(None);
            }
            (self.make)(batch).map(Some)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input_until_end("input", &mut self.input, c).await })
    }
}

impl<F> Batches<F> {
    async fn collect(&mut self, c: &Context) -> Result<Vec<Tuple>> {
        let mut batch = ElementBuffer::default();
        while let (Some(input), true) = (&mut self.input, batch.len() < self.size) {
            c.check()?;
            match input.next(c).await? {
                Some(tuple) => batch.push(tuple)?,
                None => self.input = None,
            }
        }
        Ok(batch.into_items())
    }
}

/// Stacks the rows of each component.
pub fn stacked(batch: Vec<Tuple>) -> Result<Tuple> {
    let components = batch.first().map_or(0, Vec::len);
    (0..components).map(|i| component(&batch, i)).collect()
}

fn component(batch: &[Tuple], i: usize) -> Result<Tensor> {
    let rows = reserve::collect(batch.iter().filter_map(|t| t.get(i).cloned()))?;
    let (Some(first), true) = (rows.first(), rows.len() == batch.len()) else {
        return Err(internal("elements of a batch have different numbers of components"));
    };
    if let Some((n, odd)) = rows.iter().enumerate().find(|(_, r)| r.shape() != first.shape()) {
        return Err(invalid!(
            "Cannot batch tensors with different shapes in component {i}. First element had shape {} and \
             element {n} had shape {}.",
            first.shape(),
            odd.shape()
        ));
    }
    stack(first.dtype(), first.shape(), &rows)
}
