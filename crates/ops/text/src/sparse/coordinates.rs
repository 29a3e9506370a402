//! The validated indices and shape of a sparse tensor.

use crate::prelude::*;

/// Indices of a sparse tensor: a row of coordinates for each element, all inside its shape.
pub struct Coordinates {
    pub shape: Shape,
    /// The rows one after another.
    at: Vec<i64>,
    pub count: usize,
}

impl Coordinates {
    /// From input `i` (a matrix) and input `shape` (a vector); `values`: the number of elements.
    pub fn of(c: &OpCall<'_>, i: usize, shape: usize, values: usize) -> Result<Coordinates> {
        let (indices, dims) = (c.input(i)?, c.int_vector(shape)?);
        if let [_, rank] = *indices.shape().dims()
            && rank != dims.len()
        {
            return Err(invalid!(
                "Index rank ({rank}) and shape rank ({}) do not match: {} needs a column for each dimension",
                dims.len(),
                c.input_name(i)
            ));
        }
        if indices.shape().dims() != [values, dims.len()] {
            return Err(invalid!(
                "{} must be a matrix with a row of {} coordinates for each of {values} values, got shape {}",
                c.input_name(i),
                dims.len(),
                indices.shape()
            ));
        }
        let all = Coordinates { shape: Shape::from_i64(&dims)?, at: indices.to_i64s()?, count: values };
        if let Some((k, row)) = all.rows().enumerate().find(|(_, row)| !all.inside(row)) {
            return Err(invalid!("indices[{k}] = {row:?} is out of bounds: need 0 <= index < {}", all.shape));
        }
        Ok(all)
    }

    pub fn rows(&self) -> impl Iterator<Item = &[i64]> {
        let rank = self.shape.rank();
        (0..self.count).map(move |i| &self.at[i * rank..(i + 1) * rank])
    }

    pub fn row(&self, i: usize) -> &[i64] {
        let rank = self.shape.rank();
        &self.at[i * rank..(i + 1) * rank]
    }

    fn inside(&self, row: &[i64]) -> bool {
        row.iter().zip(self.shape.iter()).all(|(at, n)| *at >= 0 && (*at as u64) < *n as u64)
    }

    /// The row-major index of each element.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows().map(|row| row.iter().zip(self.shape.iter()).fold(0, |p, (at, n)| p * n + *at as usize))
    }
}

/// Checks that three inputs from `first` on are a sparse tensor. Returns the number of elements, -1 if unknown, and the rank.
pub fn check_sparse(c: &ShapeCall<'_>, first: usize) -> Result<(i64, i64)> {
    let (indices, values, shape) = (c.rank(first, 2)?, c.rank(first + 1, 1)?, c.rank(first + 2, 1)?);
    Ok((merge_dim(indices.dim(0), values.dim(0))?, merge_dim(indices.dim(1), shape.dim(0))?))
}

/// A matrix of coordinates, for cases and results.
pub fn matrix(rows: usize, cols: usize, values: &[i64]) -> Result<Tensor> {
    Tensor::from_slice(Shape::new(&[rows, cols])?, values)
}

/// The inputs of a case: a sparse tensor of these elements.
pub fn example(at: &[i64], values: Tensor, shape: &[i64]) -> Vec<Tensor> {
    let rows = matrix(values.elements(), shape.len(), at).into_iter();
    rows.chain([values]).chain(Tensor::vector(shape)).collect()
}
