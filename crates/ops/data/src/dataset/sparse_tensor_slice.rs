//! `SparseTensorSliceDataset`: the rows of a sparse tensor.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, Iter, Next, SOURCE, Tuple, emit_typed, ready};
use crate::prelude::*;

pub static SPARSE_TENSOR_SLICE_DATASET: Op = Op {
    name: "SparseTensorSliceDataset",
    doc: "The rows of a sparse tensor, each as indices, values and dense shape.",
    inputs: &["indices: int64", "values: Tvalues", "dense_shape: int64"],
    attrs: &["Tvalues: type"],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (indices, values, shape) = (c.input(0)?.clone(), c.input(1)?.clone(), c.int_vector(2)?);
    let (2, 1) = (indices.rank(), values.rank()) else {
        return Err(invalid!(
            "Input indices must be a matrix and values a vector, got shapes {} and {}",
            indices.shape(),
            values.shape()
        ));
    };
    if values.elements() != indices.shape().dim(0)? {
        return Err(invalid!(
            "Number of values must match first dimension of indices. Got {} values, indices shape: {}",
            values.elements(),
            indices.shape()
        ));
    }
    if shape.len() != indices.shape().dim(1)? {
        return Err(invalid!(
            "Number of dimensions must match second dimension of indices. Got {} dimensions, indices shape: {}",
            shape.len(),
            indices.shape()
        ));
    }
    let Some(rows) = shape.first().copied() else {
        return Err(invalid!("The shape argument requires at least one element."));
    };
    if let Some(n) = shape.iter().find(|n| **n < 0) {
        return Err(invalid!("a dimension of a sparse tensor must not be negative, got {n}"));
    }
    let first = reserve::collect(indices.as_slice::<i64>()?.chunks_exact(shape.len()).map(|i| i[0]))?;
    if first.windows(2).any(|w| w[0] > w[1]) {
        return Err(unimplemented(
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not \
             currently supported.",
        ));
    }
    let dtype = values.dtype();
    let shape = reserve::copied(&shape[1..])?;
    let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
    let shapes = vec![PartialShape::new(&[-1, rank])?, PartialShape::vector(-1), PartialShape::vector(rank)];
    let slices = Slices { first: first.into(), indices, values, shape: Tensor::vector(&shape)?, rows };
    let types = vec![DataType::Int64, dtype, DataType::Int64];
    emit_typed(c, types, shapes, &[], slices)
}

#[derive(Clone)]
struct Slices {
    /// The row of each value, in order.
    first: Arc<[i64]>,
    indices: Tensor,
    values: Tensor,
    /// The shape of a row.
    shape: Tensor,
    rows: i64,
}

impl Dataset for Slices {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(SlicesIter { slices: self.clone(), at: 0 }))
    }
    fn cardinality(&self) -> i64 {
        self.rows
    }
}

impl Slices {
    fn row(&self, i: i64) -> Result<Tuple> {
        let (start, end) = (self.first.partition_point(|r| *r < i), self.first.partition_point(|r| *r <= i));
        let (count, rank) = (end - start, self.shape.elements());
        let mut indices = reserve::with_capacity(count.saturating_mul(rank))?;
        for index in self.indices.as_slice::<i64>()?.chunks_exact(rank + 1).skip(start).take(count) {
            indices.extend_from_slice(&index[1..]);
        }
        let indices = Tensor::vector(&indices)?.reshape(Shape::new(&[count, rank])?)?;
        Ok(vec![indices, self.values.rows(start, count)?, self.shape.clone()])
    }
}

struct SlicesIter {
    slices: Slices,
    at: i64,
}

impl Iter for SlicesIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        if self.at >= self.slices.rows {
            return ready(Ok(None));
        }
        self.at += 1;
        ready(self.slices.row(self.at - 1).map(Some))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(s.number("at", &mut self.at))
    }
}
