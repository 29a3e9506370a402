//! `SparseReorder`: the elements of a sparse tensor in row-major order.

use super::coordinates::{check_sparse, example};
use super::entries::{Entries, output_picked};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&SPARSE_REORDER];

static SPARSE_REORDER: Op = Op {
    name: "SparseReorder",
    doc: "The same sparse tensor with its elements sorted by index, row-major.",
    inputs: &["input_indices: int64", "input_values: T", "input_shape: int64"],
    outputs: &["output_indices: int64", "output_values: T"],
    attrs: &["T: type"],
    shape: |c| {
        let (count, rank) = check_sparse(c, 0)?;
        Ok(vec![[count, rank].into_iter().collect(), PartialShape::vector(count)])
    },
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        let unsorted = example(&[1, 2, 0, 1, 1, 0], r.tensor(&[3]), &[2, 3]);
        let sorted = example(&[0, 2, 1, 1], r.tensor(&[2]), &[2, 3]);
        vec![Case::new(unsorted), Case::new(sorted)]
    },
    ..Op::PURE
};

/// Positions are sorted as the values were; inverted, they say which gradient belongs to which value.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (indices, values, shape) = (g.x[0], g.x[1], g.x[2]);
    let dy = g.dy_or_zeros(1)?;
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let count = g.op("Size", [values.into()], &[("out_type", Attr::Type(DataType::Int32))])?;
    let positions = g.op("Range", [zero.into(), count.into(), one.into()], &[])?;
    let sorted = g.ops("SparseReorder", [indices.into(), positions.into(), shape.into()], &[])?;
    let sorted = *sorted.get(1).ok_or_else(|| internal("SparseReorder has two outputs"))?;
    let back = g.unary("InvertPermutation", sorted)?;
    let dvalues = g.op("GatherV2", [dy.into(), back.into(), zero.into()], &[])?;
    Ok(vec![Grad::None, dvalues.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let all = Entries::of(c, 0)?;
    if (1..all.count()).all(|i| all.row(i - 1) <= all.row(i)) {
        let (indices, values) = (c.take(0)?, c.take(1)?);
        c.set(0, indices);
        c.set(1, values);
        return Ok(());
    }
    let mut order = reserve::collect(0..all.count())?;
    // Equal indices keep their order: the position decides, and no memory is needed for stability.
    order.sort_unstable_by(|a, b| all.row(*a).cmp(all.row(*b)).then(a.cmp(b)));
    let (indices, values, shape) = (c.take(0)?, c.take(1)?, c.take(2)?);
    let [indices, values] = output_picked(c, Entries::of_parts(&indices, &values, &shape)?, &order)?;
    c.set(0, indices);
    c.set(1, values);
    Ok(())
}
