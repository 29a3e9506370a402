//! `SparseConcat`: sparse tensors one after another along a dimension.

use super::coordinates::{example, matrix};
use super::entries::{Entries, check_ranks, sparse_shape};
use crate::prelude::*;
use crate::rows::{join, pick};

pub static OPS: &[&Op] = &[&SPARSE_CONCAT];

static SPARSE_CONCAT: Op = Op {
    name: "SparseConcat",
    doc: "Sparse tensors concatenated along concat_dim, their elements in row-major order.",
    inputs: &["indices: N * int64", "values: N * T", "shapes: N * int64"],
    outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
    attrs: &["concat_dim: int", "N: int >= 2", "T: type"],
    shape: |c| {
        let mut rank = -1;
        for (indices, shape) in c.arg(0).iter().zip(c.arg(2)) {
            for (s, axis, want) in [(indices, 1, 2), (shape, 0, 1)] {
                if s.rank().is_some_and(|r| r != want) {
                    return Err(invalid!(
                        "a sparse tensor has a matrix of indices and a vector as shape, got {s}"
                    ));
                }
                rank = merge_dim(rank, s.dim(axis))?;
            }
        }
        Ok(sparse_shape(rank))
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |axis: i64| {
            let a = example(&[0, 1, 1, 1], r.tensor(&[2]), &[2, 3]);
            let b = example(&[0, 0, 1, 2, 1, 1], r.tensor(&[3]), &[2, 3]);
            let each = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]);
            Case::new(each.collect()).attr("concat_dim", axis).attr("N", 2)
        };
        vec![case(0), case(1), case(-2)]
    },
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let axis = node.attrs.int("concat_dim")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, axis)))
}

fn run(c: &mut OpCall<'_>, axis: i64) -> Result<()> {
    let parts = c.arg(0).zip(c.arg(1)).zip(c.arg(2)).map(|((i, v), s)| {
        check_ranks(c.input(i)?, c.input(v)?, c.input(s)?)?;
        Entries::of_parts(c.input(i)?, c.input(v)?, c.input(s)?)
    });
    let parts: Vec<Entries<'_>> = reserve::try_collect(parts)?;
    let rank = parts.first().map_or(0, Entries::rank);
    if axis < -(rank as i64) || axis >= rank as i64 {
        return Err(invalid!("Concat dimension must be in range [{}, {rank}), got {axis}", -(rank as i64)));
    }
    let axis = axis.rem_euclid(rank as i64) as usize;
    let dims = concatenated(&parts, axis)?;
    let count = parts.iter().map(Entries::count).fold(0, usize::saturating_add);
    let mut at = reserve::with_capacity(count.saturating_mul(rank))?;
    let mut offset = 0i64;
    for part in &parts {
        for row in part.rows() {
            at.extend(
                row.iter().enumerate().map(|(d, v)| if d == axis { v.wrapping_add(offset) } else { *v }),
            );
        }
        offset = offset.wrapping_add(part.dims[axis]);
    }
    let row = |i: usize| &at[i * rank..(i + 1) * rank];
    let mut order = reserve::collect(0..count)?;
    order.sort_unstable_by(|a, b| row(*a).cmp(row(*b)).then(a.cmp(b)));
    let mut sorted = reserve::with_capacity(at.len())?;
    order.iter().for_each(|i| sorted.extend_from_slice(row(*i)));
    let values = reserve::collect(parts.iter().map(|p| p.values.clone()))?;
    let values = join(c.output_type(1)?, Shape::vector(count), &values)?;
    let values = pick(c, &values, 1, &order, Shape::vector(count))?;
    c.set(0, matrix(count, rank, &sorted)?);
    c.set(1, values);
    c.set(2, Tensor::vector(&dims)?);
    Ok(())
}

/// The shape of the result. All but `axis` must agree.
fn concatenated(parts: &[Entries<'_>], axis: usize) -> Result<Vec<i64>> {
    let Some(first) = parts.first() else { return Err(invalid!("SparseConcat needs at least one input")) };
    let mut dims = reserve::copied(first.dims)?;
    Shape::from_i64(&dims)?;
    for (i, part) in parts.iter().enumerate().skip(1) {
        Shape::from_i64(part.dims)?;
        if part.rank() != dims.len() {
            return Err(invalid!(
                "Ranks of all input tensors must match: expected {} but got {} at position {i}",
                dims.len(),
                part.rank()
            ));
        }
        for (d, (n, more)) in dims.iter_mut().zip(part.dims).enumerate() {
            if d == axis {
                *n = n
                    .checked_add(*more)
                    .ok_or_else(|| invalid!("sizes of dimension {d} overflow when added"))?;
            } else if n != more {
                return Err(invalid!(
                    "Input shapes must match: expected {n} for dimension {d} but got {more} at position {i}"
                ));
            }
        }
    }
    Ok(dims)
}
