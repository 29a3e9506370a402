//! `SparseFillEmptyRows`: fills empty rows of a sparse tensor, and its gradient.

use super::coordinates::{Coordinates, check_sparse, example, matrix};
use crate::prelude::*;
use crate::rows::{join, pick};

pub static SPARSE_FILL_EMPTY_ROWS: Op = Op {
    name: "SparseFillEmptyRows",
    doc: "A sparse tensor by rows, with default_value at the start of those that had no element; which these are; and where each element went.",
    inputs: &["indices: int64", "values: T", "dense_shape: int64", "default_value: T"],
    outputs: &[
        "output_indices: int64",
        "output_values: T",
        "empty_row_indicator: bool",
        "reverse_index_map: int64",
    ],
    attrs: &["T: type"],
    shape: |c| {
        let (count, rank) = check_sparse(c, 0)?;
        c.scalar(3)?;
        let rows = c.as_shape(2)?;
        if rows.rank() == Some(0) {
            return Err(no_rows());
        }
        Ok(vec![
            [-1, rank].into_iter().collect(),
            PartialShape::vector(-1),
            PartialShape::vector(rows.dim(0)),
            PartialShape::vector(count),
        ])
    },
    grad: Rule(|g| {
        let (map, dvalues) = (g.y[3], g.dy_or_zeros(1)?);
        let [dvalues, ddefault] = g.ops("SparseFillEmptyRowsGrad", [map.into(), dvalues.into()], &[])?[..]
        else {
            return Err(internal("two gradients"));
        };
        Ok(vec![Grad::None, dvalues.into(), Grad::None, ddefault.into()])
    }),
    kernels: cpu!(run),
    cases: |r| {
        let mut case = |at: &[i64], rows: i64| {
            let sparse = example(at, r.tensor(&[at.len() / 2]), &[rows, 3]);
            Case::new(sparse.into_iter().chain([r.tensor(&[])]).collect())
        };
        vec![case(&[0, 1, 2, 0, 2, 2], 4), case(&[1, 1, 0, 2], 2), case(&[], 2)]
    },
    ..Op::PURE
};

pub static SPARSE_FILL_EMPTY_ROWS_GRAD: Op = Op {
    name: "SparseFillEmptyRowsGrad",
    doc: "The gradients of SparseFillEmptyRows by values and default_value.",
    inputs: &["reverse_index_map: int64", "grad_values: T"],
    outputs: &["d_values: T", "d_default_value: T"],
    attrs: &["T: type"],
    shape: |c| {
        let map = c.rank(0, 1)?;
        c.rank(1, 1)?;
        Ok(vec![map, PartialShape::scalar()])
    },
    grad: Missing,
    kernels: cpu!(fill_gradients: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let map = Tensor::vector(&[2i64, 0]).into_iter();
        vec![Case::new(map.chain([r.tensor(&[4])]).collect())]
    },
    ..Op::PURE
};

fn no_rows() -> Error {
    invalid!("Dense shape cannot be empty.")
}

/// That the row of each element is there.
fn check_rows(c: &OpCall<'_>) -> Result<()> {
    let (indices, dims) = (c.input(0)?, c.int_vector(2)?);
    let ([_, rank], Some(rows)) = (indices.shape().dims(), dims.first()) else { return Ok(()) };
    for (i, row) in indices.as_slice::<i64>()?.chunks_exact((*rank).max(1)).enumerate() {
        if row[0] < 0 {
            return Err(invalid!("indices({i}, 0) is invalid: {} < 0", row[0]));
        }
        if row[0] >= *rows {
            return Err(invalid!("indices({i}, 0) is invalid: {} >= {rows}", row[0]));
        }
    }
    Ok(())
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (values, default) = (c.input(1)?, c.input(3)?);
    if values.rank() != 1 || !default.shape().is_scalar() {
        return Err(invalid!(
            "values must be a vector and default_value a scalar, got shapes {} and {}",
            values.shape(),
            default.shape()
        ));
    }
    check_rows(c)?;
    let all = Coordinates::of(c, 0, 2, values.elements())?;
    let (rows, rank) = (*all.shape.first().ok_or_else(no_rows)?, all.shape.rank());
    let mut empty = Tensor::full(Shape::vector(rows), true)?;
    all.rows().try_for_each(|row| empty.as_mut_slice::<bool>().map(|e| e[row[0] as usize] = false))?;
    // Elements sorted by row (stable); the default has the index after the last.
    let missing =
        empty.as_slice::<bool>()?.iter().enumerate().filter(|(_, e)| **e).map(|(row, _)| (row, all.count));
    let filled = empty.as_slice::<bool>()?.iter().filter(|e| **e).count();
    let mut items = reserve::with_capacity(all.count.saturating_add(filled))?;
    items.extend(all.rows().enumerate().map(|(i, row)| (row[0] as usize, i)).chain(missing));
    items.sort_unstable();
    let mut at = reserve::with_capacity(items.len().saturating_mul(rank))?;
    let mut map = reserve::filled(all.count, 0i64)?;
    for (to, (row, i)) in items.iter().enumerate() {
        if *i == all.count {
            at.push(*row as i64);
            at.extend(std::iter::repeat_n(0, rank - 1));
        } else {
            at.extend_from_slice(all.row(*i));
            map[*i] = to as i64;
        }
    }
    let picks = reserve::collect(items.iter().map(|(_, i)| *i))?;
    let elements = join(values.dtype(), Shape::vector(all.count + 1), &[values.clone(), default.clone()])?;
    let elements = pick(c, &elements, 1, &picks, Shape::vector(picks.len()))?;
    c.set(0, matrix(picks.len(), rank, &at)?);
    c.set(1, elements);
    c.set(2, empty);
    c.set(3, Tensor::vector(&map)?);
    Ok(())
}

/// Kernel of the gradient; that of ragged tensors is the same.
pub fn fill_gradients<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let map = c.int_vector(0)?;
    if c.shape(1)?.rank() != 1 {
        return Err(invalid!("grad_values must be a vector, got shape {}", c.shape(1)?));
    }
    let dy = c.slice::<T>(1)?;
    let mut rest = reserve::filled(dy.len(), true)?;
    let mut values = reserve::with_capacity(map.len())?;
    for (i, at) in map.iter().enumerate() {
        let Some(at) = usize::try_from(*at).ok().filter(|at| *at < dy.len()) else {
            return Err(invalid!(
                "Elements in reverse index must be in [0, {}) but got {at} at {i}",
                dy.len()
            ));
        };
        values.push(dy[at]);
        rest[at] = false;
    }
    let default = dy.iter().zip(&rest).filter(|(_, rest)| **rest).fold(T::ZERO, |sum, (dy, _)| sum.add(*dy));
    c.set(0, Tensor::vector(&values)?);
    c.set(1, Tensor::scalar(default));
    Ok(())
}
