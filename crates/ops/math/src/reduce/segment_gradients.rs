//! Gradients of reductions by segment, sorted or not: inputs 0 and 1 are the data and the ids.

use crate::gradients::{cast, conj};
use crate::prelude::*;

/// Gathers rows by segment id; zeros for negative (dropped) ids.
pub fn gather_or_zero(g: &mut GradCall<'_>, rows: Output) -> Result<Output> {
    let ids = g.x[1];
    let zero = g.number(0.0, ids)?;
    let safe = g.binary("Maximum", ids, zero)?;
    let axis = g.constant(Tensor::scalar(0i32))?;
    let found = g.op("GatherV2", [rows.into(), safe.into(), axis.into()], &[])?;
    let kept = g.binary("GreaterEqual", ids, zero)?;
    let kept = as_leading(g, kept, found)?;
    let none = g.number(0.0, found)?;
    g.op("SelectV2", [kept.into(), found.into(), none.into()], &[])
}

/// Reshapes `x`, of the leading dimensions of `like`, to broadcast over its other dimensions.
fn as_leading(g: &mut GradCall<'_>, x: Output, like: Output) -> Result<Output> {
    if let (Some(a), Some(b)) = (g.graph.shape(x).rank(), g.graph.shape(like).rank())
        && a == b
    {
        return Ok(x);
    }
    let (shape, rank, of_like) = (g.shape_of(x)?, g.unary("Rank", x)?, g.unary("Rank", like)?);
    let missing = g.binary("Sub", of_like, rank)?;
    let (flat, one) = (g.constant(int_vector(&[1]))?, g.constant(Tensor::scalar(1i32))?);
    let missing = g.binary("Reshape", missing, flat)?;
    let ones = g.binary("Fill", missing, one)?;
    let axis = g.constant(Tensor::scalar(0i32))?;
    let shape = g.op("ConcatV2", [vec![shape, ones].into(), axis.into()], &[])?;
    g.binary("Reshape", x, shape)
}

/// Reduces `x` with the ids, and `num_segments` if any, of this node.
fn by_segment(g: &mut GradCall<'_>, op: &str, x: Output) -> Result<Output> {
    let ids = g.x[1];
    match g.x.get(2).copied() {
        Some(segments) => g.op(op, [x.into(), ids.into(), segments.into()], &[]),
        None => g.binary(op, x, ids),
    }
}

/// The gradient flows to the element selected, in equal parts on ties.
pub fn extremum_gradient(g: &mut GradCall<'_>, sum: &str) -> Result<Vec<Grad>> {
    let (data, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let best = gather_or_zero(g, y)?;
    let taken = g.binary("Equal", data, best)?;
    let weight = cast(g, taken, dy)?;
    let count = by_segment(g, sum, weight)?;
    let share = g.binary("RealDiv", dy, count)?;
    let share = gather_or_zero(g, share)?;
    let zeros = g.unary("ZerosLike", share)?;
    let mut grads = vec![g.op("SelectV2", [taken.into(), share.into(), zeros.into()], &[])?.into()];
    grads.resize(g.x.len(), Grad::None);
    Ok(grads)
}

/// The product of all others: the product divided by the element, unless that is zero. With one zero in a segment only
/// its own gradient is not zero, with two none is.
pub fn product_gradient(g: &mut GradCall<'_>, sum: &str, product: &str) -> Result<Vec<Grad>> {
    let (data, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let zero = g.number(0.0, data)?;
    let is_zero = g.binary("Equal", data, zero)?;
    let one = g.constant(Tensor::scalar(1i32))?;
    let flags = cast(g, is_zero, one)?;
    let zeros = by_segment(g, sum, flags)?;
    let several = g.binary("Greater", zeros, one)?;
    let nothing = g.unary("ZerosLike", dy)?;
    let dy = g.op("SelectV2", [several.into(), nothing.into(), dy.into()], &[])?;
    let ones = g.unary("OnesLike", data)?;
    let safe = g.op("SelectV2", [is_zero.into(), ones.into(), data.into()], &[])?;
    let of_safe = by_segment(g, product, safe)?;
    let (all, others) = (gather_or_zero(g, y)?, gather_or_zero(g, of_safe)?);
    let divided = g.binary("RealDiv", all, safe)?;
    let slope = g.op("SelectV2", [is_zero.into(), others.into(), divided.into()], &[])?;
    let (slope, dy) = (conj(g, slope)?, gather_or_zero(g, dy)?);
    let mut grads = vec![g.binary("Mul", dy, slope)?.into()];
    grads.resize(g.x.len(), Grad::None);
    Ok(grads)
}
