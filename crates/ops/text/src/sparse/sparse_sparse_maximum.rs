//! `SparseSparseMaximum`, `SparseSparseMinimum`: elementwise on two sparse tensors; missing elements count as zero.

use super::coordinates::{Coordinates, check_sparse, example, matrix};
use crate::prelude::*;
use std::cmp::Ordering;

pub static SPARSE_SPARSE_MAXIMUM: Op = Op {
    name: "SparseSparseMaximum",
    doc: "The larger of the elements of two sparse tensors at each index of either.",
    inputs: &[
        "a_indices: int64",
        "a_values: T",
        "a_shape: int64",
        "b_indices: int64",
        "b_values: T",
        "b_shape: int64",
    ],
    outputs: &["output_indices: int64", "output_values: T"],
    attrs: &["T: realnumbertype"],
    shape: |c| {
        let (_, rank) = check_sparse(c, 0)?;
        let rank = merge_dim(rank, check_sparse(c, 3)?.1)?;
        Ok(vec![[-1, rank].into_iter().collect(), PartialShape::vector(-1)])
    },
    grad: Missing,
    kernels: cpu!(max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| {
        let a = example(&[0, 1, 1, 0, 1, 2], r.tensor(&[3]), &[2, 3]);
        let b = example(&[0, 0, 1, 0], r.tensor(&[2]), &[2, 3]);
        vec![Case::new(a.into_iter().chain(b).collect())]
    },
    ..Op::PURE
};

pub static SPARSE_SPARSE_MINIMUM: Op = Op {
    name: "SparseSparseMinimum",
    doc: "The smaller of the elements of two sparse tensors at each index of either.",
    attrs: &["T: numbertype"],
    kernels: cpu!(min: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..SPARSE_SPARSE_MAXIMUM
};

fn max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, T::larger)
}

fn min<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, T::smaller)
}

fn same_shape(a: &Shape, b: &Shape) -> Result<()> {
    if a.rank() != b.rank() {
        let sizes = |s: &Shape| s.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        return Err(invalid!(
            "Operands do not have the same ranks; got shapes: {} and {}",
            sizes(a),
            sizes(b)
        ));
    }
    if a != b {
        return Err(invalid!("Operands' shapes do not match: {a} and {b}"));
    }
    if a.rank() == 0 {
        return Err(invalid!("the sparse tensors must have at least one dimension"));
    }
    Ok(())
}

fn run<T: Real>(c: &mut OpCall<'_>, choose: fn(T, T) -> T) -> Result<()> {
    for i in [1, 4] {
        if c.shape(i)?.rank() != 1 {
            return Err(invalid!("{} must be a vector, got shape {}", c.input_name(i), c.shape(i)?));
        }
    }
    let (a_values, b_values) = (c.slice::<T>(1)?, c.slice::<T>(4)?);
    let (a, b) = (Coordinates::of(c, 0, 2, a_values.len())?, Coordinates::of(c, 3, 5, b_values.len())?);
    same_shape(&a.shape, &b.shape)?;
    let (mut i, mut j) = (0, 0);
    let (mut at, mut values) = (Vec::new(), Vec::new());
    while i < a.count || j < b.count {
        // Past the end of one, the other is next.
        let order = match (i < a.count, j < b.count) {
            (true, true) => a.row(i).cmp(b.row(j)),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let mut x = T::ZERO;
        let mut y = T::ZERO;
        reserve::extend(&mut at, if order.is_le() { a.row(i) } else { b.row(j) })?;
        if order.is_le() {
            x = a_values[i];
            i += 1;
        }
        if order.is_ge() {
            y = b_values[j];
            j += 1;
        }
        reserve::push(&mut values, choose(x, y))?;
    }
    c.set(0, matrix(values.len(), a.shape.rank(), &at)?);
    c.set(1, Tensor::vector(&values)?);
    Ok(())
}
