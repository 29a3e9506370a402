//! Rows of a sparse tensor as sparse tensors of their own, and back.

use super::coordinates::matrix;
use super::entries::Entries;
use crate::prelude::*;
use crate::rows::join;

/// Indices, values and shape of each row: sorted indices are needed, so that a row is in one place.
pub fn split(all: Entries<'_>) -> Result<Vec<[Tensor; 3]>> {
    if all.rank() < 2 {
        return Err(invalid!("Rank of input SparseTensor should be > 1, but saw rank: {}", all.rank()));
    }
    let shape = all.check_order()?;
    let dims = Tensor::vector(&all.dims[1..])?;
    let mut rows = reserve::with_capacity(shape[0])?;
    let mut start = 0;
    for row in 0..shape[0] {
        let mut end = start;
        while end < all.count() && all.row(end)[0] == row as i64 {
            end += 1;
        }
        let mut at = reserve::with_capacity((end - start).saturating_mul(all.rank() - 1))?;
        (start..end).for_each(|i| at.extend_from_slice(&all.row(i)[1..]));
        let indices = matrix(end - start, all.rank() - 1, &at)?;
        rows.push([indices, all.values.rows(start, end - start)?, dims.clone()]);
        start = end;
    }
    Ok(rows)
}

/// The three tensors of a sparse one.
pub struct Stacked {
    pub indices: Tensor,
    pub values: Tensor,
    pub shape: Tensor,
}

/// Sparse tensors, three parts each, as one: of shape `outer`, then the largest size in each dimension.
pub fn stack(dtype: DataType, outer: &[i64], parts: &[Tensor]) -> Result<Stacked> {
    let mut sizes: Vec<i64> = Vec::new();
    let mut count = 0usize;
    for (i, part) in parts.chunks_exact(3).enumerate() {
        let (indices, values, shape) = (&part[0], &part[1], &part[2]);
        check(i, dtype, indices, values, shape)?;
        let dims = shape.as_slice::<i64>()?;
        if i == 0 {
            sizes = reserve::copied(dims)?;
        }
        if sizes.len() != dims.len() {
            return Err(invalid!(
                "Inconsistent shape across SparseTensors: rank prior to SparseTensor[{i}] was: {} but rank of \
                 SparseTensor[{i}] is: {}",
                sizes.len(),
                dims.len()
            ));
        }
        sizes.iter_mut().zip(dims).for_each(|(all, n)| *all = (*all).max(*n));
        count = count.saturating_add(values.elements());
    }
    let rank = outer.len() + sizes.len();
    let mut at = reserve::with_capacity(count.saturating_mul(rank))?;
    let mut place = reserve::filled(outer.len(), 0i64)?;
    for part in parts.chunks_exact(3) {
        let indices = part[0].as_slice::<i64>()?;
        for i in 0..part[1].elements() {
            at.extend_from_slice(&place);
            at.extend_from_slice(&indices[i * sizes.len()..(i + 1) * sizes.len()]);
        }
        for (p, n) in place.iter_mut().zip(outer).rev() {
            *p += 1;
            if *p < *n {
                break;
            }
            *p = 0;
        }
    }
    let values = reserve::collect(parts.chunks_exact(3).map(|part| part[1].clone()))?;
    let mut dims = reserve::copied(outer)?;
    reserve::extend(&mut dims, &sizes)?;
    Ok(Stacked {
        indices: matrix(count, rank, &at)?,
        values: join(dtype, Shape::vector(count), &values)?,
        shape: Tensor::vector(&dims)?,
    })
}

/// That the parts of sparse tensor `i` fit each other.
fn check(i: usize, dtype: DataType, indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<()> {
    for (t, part, rank, what) in [
        (indices, 0, 2, "an index matrix"),
        (values, 1, 1, "a values vector"),
        (shape, 2, 1, "a shape vector"),
    ] {
        if t.rank() != rank {
            return Err(invalid!(
                "Expected serialized_sparse[{i}, {part}] to represent {what} but received shape {}",
                t.shape()
            ));
        }
        if part != 1 && t.dtype() != DataType::Int64 {
            return Err(invalid!(
                "Expected serialized_sparse[{i}, {part}] to be int64 but got {}",
                t.dtype()
            ));
        }
    }
    if values.dtype() != dtype {
        return Err(invalid!(
            "Requested SparseTensor of type {dtype} but SparseTensor[{i}].values.dtype() == {}",
            values.dtype()
        ));
    }
    if indices.shape()[0] != values.elements() {
        return Err(invalid!(
            "Expected row counts of SparseTensor[{i}].indices and SparseTensor[{i}].values to match but they do not: \
             {} vs. {}",
            indices.shape()[0],
            values.elements()
        ));
    }
    if indices.shape()[1] != shape.elements() {
        return Err(invalid!(
            "Expected column counts of SparseTensor[{i}].indices to match size of SparseTensor[{i}].shape but they do \
             not: {} vs. {}",
            indices.shape()[1],
            shape.elements()
        ));
    }
    Ok(())
}
