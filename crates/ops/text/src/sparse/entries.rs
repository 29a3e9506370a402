//! Sparse tensors as they come: of consistent sizes, but with indices that may be anywhere.

use super::coordinates::matrix;
use crate::prelude::*;
use crate::rows::pick;

/// Indices, values and shape. Indices are neither sorted nor known to lie inside the shape.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    pub indices: &'a [i64],
    pub values: &'a Tensor,
    pub dims: &'a [i64],
}

impl<'a> Entries<'a> {
    /// The three inputs from `first` on.
    pub fn of(c: &'a OpCall<'_>, first: usize) -> Result<Entries<'a>> {
        Entries::of_parts(c.input(first)?, c.input(first + 1)?, c.input(first + 2)?)
    }

    pub fn of_parts(indices: &'a Tensor, values: &'a Tensor, shape: &'a Tensor) -> Result<Entries<'a>> {
        check_ranks(indices, values, shape)?;
        let (rows, rank) = (indices.shape()[0], indices.shape()[1]);
        if rows != values.elements() {
            return Err(invalid!(
                "Number of elements in indices ({rows}) and values ({}) do not match",
                values.elements()
            ));
        }
        if rank != shape.elements() {
            return Err(invalid!("Index rank ({rank}) and shape rank ({}) do not match", shape.elements()));
        }
        Ok(Entries { indices: indices.as_slice()?, values, dims: shape.as_slice()? })
    }

    pub fn count(&self) -> usize {
        self.values.elements()
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn row(&self, i: usize) -> &'a [i64] {
        &self.indices[i * self.rank()..(i + 1) * self.rank()]
    }

    pub fn rows(&self) -> impl Iterator<Item = &'a [i64]> + use<'a> {
        let this = *self;
        (0..this.count()).map(move |i| this.row(i))
    }

    /// That every index lies inside the shape; returns the shape.
    pub fn check_bounds(&self) -> Result<Shape> {
        let shape = Shape::from_i64(self.dims)?;
        for (k, row) in self.rows().enumerate() {
            if row.iter().zip(self.dims).any(|(at, n)| *at < 0 || at >= n) {
                return Err(invalid!(
                    "indices[{k}] = {} is out of bounds: need 0 <= index < {shape}",
                    show(row)
                ));
            }
        }
        Ok(shape)
    }

    /// As `check_bounds`, and that indices ascend.
    pub fn check_order(&self) -> Result<Shape> {
        let shape = self.check_bounds()?;
        for k in 1..self.count() {
            let row = self.row(k);
            match self.row(k - 1).cmp(row) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    return Err(invalid!("indices[{k}] = {} is repeated", show(row)));
                }
                std::cmp::Ordering::Greater => {
                    return Err(invalid!(
                        "indices[{k}] = {} is out of order. Many sparse ops require sorted indices.",
                        show(row)
                    ));
                }
            }
        }
        Ok(shape)
    }
}

/// `[1,2]`, as TensorFlow writes indices.
pub fn show(row: &[i64]) -> String {
    let parts: Vec<String> = row.iter().map(i64::to_string).collect();
    format!("[{}]", parts.join(","))
}

/// Checks the ranks of the three tensors of a sparse one.
pub fn check_ranks(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<()> {
    for (t, rank, what, kind) in
        [(indices, 2, "indices", "matrix"), (values, 1, "values", "vector"), (shape, 1, "shape", "vector")]
    {
        if t.rank() != rank {
            return Err(invalid!("Input {what} should be a {kind} but received shape {}", t.shape()));
        }
    }
    Ok(())
}

/// The elements at `picks`, with their rows of indices, as outputs 0 and 1.
pub fn output_picked(c: &mut OpCall<'_>, from: Entries<'_>, picks: &[usize]) -> Result<[Tensor; 2]> {
    let mut at = reserve::with_capacity(picks.len().saturating_mul(from.rank()))?;
    picks.iter().for_each(|i| at.extend_from_slice(from.row(*i)));
    let indices = matrix(picks.len(), from.rank(), &at)?;
    Ok([indices, pick(c, from.values, 1, picks, Shape::vector(picks.len()))?])
}

/// The shape rule of a sparse result, of this rank if it is known.
pub fn sparse_shape(rank: i64) -> Vec<PartialShape> {
    vec![[-1, rank].into_iter().collect(), PartialShape::vector(-1), PartialShape::vector(rank)]
}
