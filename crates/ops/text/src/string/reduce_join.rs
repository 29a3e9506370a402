//! `ReduceJoin`: strings joined along dimensions.

use super::mapped::words;
use crate::prelude::*;
use bytes::Bytes;

pub static REDUCE_JOIN: Op = Op {
    name: "ReduceJoin",
    doc: "The strings joined along the dimensions listed; the one listed first varies fastest.",
    inputs: &["inputs: string", "reduction_indices: int32"],
    outputs: &["output: string"],
    attrs: &["keep_dims: bool = false", "separator: string = ''"],
    shape,
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let grid = words(&[2, 2], &["a", "b", "c", "d"]);
        vec![
            Case::new(vec![grid.clone(), Tensor::scalar(-1i32)]).attr("keep_dims", true),
            Case::new(vec![grid.clone(), int_vector(&[0, 1])]).attr("separator", "."),
            Case::new(vec![grid.clone(), int_vector(&[1, 0])]),
            Case::new(vec![grid, int_vector(&[])]),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (input, keep) = (c.input(0), c.attrs.bool("keep_dims")?);
    let (Some(dims), Some(axes)) = (input.dims(), c.ints(1)) else {
        return Ok(vec![match (input.rank(), keep) {
            (Some(r), true) => PartialShape::unknown_of_rank(r),
            _ => PartialShape::unknown(),
        }]);
    };
    let axes = checked_axes(&axes, dims.len())?;
    let size = |(i, d): (usize, &i64)| match axes.contains(&i) {
        true if keep => Some(1),
        true => None,
        false => Some(*d),
    };
    Ok(vec![dims.iter().enumerate().filter_map(size).collect()])
}

fn checked_axes(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut checked = Vec::new();
    for a in axes {
        let at = axis_in_range(*a, rank).map_err(|_| {
            out_of_range(format_args!("Invalid reduction dimension {a} for input with {rank} dimension(s)"))
        })?;
        if checked.contains(&at) {
            return Err(invalid!("Duplicate reduction dimension {at}"));
        }
        checked.push(at);
    }
    Ok(checked)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, separator) = (c.input(0)?, c.attrs().bytes("separator")?);
    let keep = c.attrs().bool("keep_dims")?;
    let shape = input.shape();
    let axes = checked_axes(&c.input(1)?.to_i64s()?, shape.rank())?;
    let strides = shape.strides();
    let kept: Vec<usize> = (0..shape.rank()).filter(|d| !axes.contains(d)).collect();
    let dims: Vec<usize> = (0..shape.rank())
        .filter_map(|d| match axes.contains(&d) {
            true if keep => Some(1),
            true => None,
            false => Some(shape[d]),
        })
        .collect();
    let out = Shape::new(&dims)?;
    // The dimension listed first is innermost.
    let inner: Vec<usize> = axes.iter().rev().copied().collect();
    let offset = |of: &[usize], mut i: usize| {
        let mut at = 0;
        for d in of.iter().rev() {
            at += i % shape[*d] * strides[*d];
            i /= shape[*d];
        }
        at
    };
    let strings = input.strings()?;
    let n: usize = inner.iter().map(|d| shape[*d]).product();
    let steps = reserve::collect((0..n).map(|i| offset(&inner, i)))?;
    let out = Tensor::build_objects(out, |i| {
        let start = offset(&kept, i);
        let parts = steps.iter().map(|s| &strings[start + s][..]);
        Ok(Bytes::from(reserve::join(parts, separator)?))
    })?;
    c.set(0, out);
    Ok(())
}
