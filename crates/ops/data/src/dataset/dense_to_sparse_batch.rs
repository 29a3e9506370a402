//! `DenseToSparseBatchDataset`: elements of different shapes as batches of one sparse tensor each.

use super::batch::{Batches, batch_size, batches};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Tuple, emit_typed, input};
use crate::held::Held;
use crate::prelude::*;
use crate::rows::join;

pub static DENSE_TO_SPARSE_BATCH_DATASET: Op = Op {
    name: "DenseToSparseBatchDataset",
    doc: "Batches of elements as sparse tensors with rows of `row_shape`: of three variants each, as of SerializeSparse.",
    inputs: &["input_dataset: variant", "batch_size: int64", "row_shape: int64"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(run),
    ..DATASET
};

pub static EXPERIMENTAL_DENSE_TO_SPARSE_BATCH_DATASET: Op =
    Op { name: "ExperimentalDenseToSparseBatchDataset", ..DENSE_TO_SPARSE_BATCH_DATASET };

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    if input.types.len() != 1 {
        return Err(invalid!("DenseToSparseBatchDataset only supports inputs with a single component."));
    }
    let size = batch_size(c.scalar(1)?)?;
    if c.shape(2)?.rank() != 1 {
        return Err(invalid!("row_shape must be a vector, got shape {}", c.shape(2)?));
    }
    let row_shape = PartialShape::new(&c.int_vector(2)?)?;
    let shapes = vec![PartialShape::vector(-1).concat(&row_shape)];
    let made = SparseBatch { input: input.clone(), size, row_shape };
    emit_typed(c, vec![DataType::Variant], shapes, &[&input], made)
}

struct SparseBatch {
    input: DatasetRef,
    size: usize,
    /// Sizes of a row; -1 for the largest of the batch.
    row_shape: PartialShape,
}

impl Dataset for SparseBatch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let row_shape = self.row_shape.clone();
        let make = move |batch: Vec<Tuple>| sparse(&batch, row_shape.dims().unwrap_or_default());
        Ok(Box::new(Batches {
            input: Some(self.input.iterator(c)?),
            size: self.size,
            drop_remainder: false,
            make,
        }))
    }
    fn cardinality(&self) -> i64 {
        batches(self.input.cardinality(), self.size, false)
    }
}

/// All elements of a batch as one sparse tensor.
fn sparse(batch: &[Tuple], row_shape: &[i64]) -> Result<Tuple> {
    let rows = reserve::collect(batch.iter().filter_map(|t| t.first().cloned()))?;
    let Some(dtype) = rows.first().map(Tensor::dtype) else { return Err(internal("an empty batch")) };
    let mut sizes = reserve::copied(row_shape)?;
    let mut values = 0usize;
    for t in &rows {
        fit(t.shape(), row_shape, &mut sizes)?;
        values = values.saturating_add(t.elements());
    }
    let (rank, mut list) = (row_shape.len() + 1, Vec::new());
    reserve::room(&mut list, values.saturating_mul(rank))?;
    for (i, t) in rows.iter().enumerate() {
        coordinates(i as i64, t.shape(), &mut list);
    }
    let indices = Tensor::vector(&list)?.reshape(Shape::new(&[values, rank])?)?;
    let shape: Vec<i64> = std::iter::once(rows.len() as i64).chain(sizes).collect();
    let parts = [indices, join(dtype, Shape::vector(values), &rows)?, Tensor::vector(&shape)?];
    let parts = parts.into_iter().map(|t| Variant::new(Held(t))).collect();
    Ok(vec![Tensor::from_objects(Shape::vector(3), parts)?])
}

/// Checks the shape of an element, and widens the sizes that are free.
fn fit(shape: &Shape, row_shape: &[i64], sizes: &mut [i64]) -> Result<()> {
    let named = || PartialShape::new(row_shape);
    if shape.rank() != row_shape.len() {
        return Err(invalid!(
            "Input element had shape ({shape}) that is incompatible with the row shape ({}).",
            named()?
        ));
    }
    for ((size, n), wanted) in sizes.iter_mut().zip(shape.to_i64()).zip(row_shape) {
        if *wanted >= 0 && n > *wanted {
            return Err(data_loss(format_args!(
                "Input element had shape ({shape}) that is larger than the row shape ({}).",
                named()?
            )));
        }
        *size = (*size).max(n);
    }
    Ok(())
}

/// The index of each value of element number `i`, in order; there is room for them.
fn coordinates(i: i64, shape: &Shape, out: &mut Vec<i64>) {
    let sizes = shape.to_i64();
    let mut at = sizes.clone();
    at.iter_mut().for_each(|n| *n = 0);
    for _ in 0..shape.elements() {
        out.push(i);
        out.extend_from_slice(&at);
        for (n, size) in at.iter_mut().zip(&sizes).rev() {
            *n += 1;
            if *n < *size {
                break;
            }
            *n = 0;
        }
    }
}
