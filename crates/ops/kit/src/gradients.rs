//! Helpers of gradient rules.

use crate::prelude::*;

/// Sums a gradient over the dimensions along which `x` was broadcast, back to the shape of `x`.
pub fn sum_to_shape_of(g: &mut GradCall<'_>, dx: Output, x: Output, other: Output) -> Result<Output> {
    let (sx, so) = (g.graph.shape(x), g.graph.shape(other));
    if sx.is_fully_known() && sx == so {
        return Ok(dx);
    }
    let (shape_x, shape_other) = (g.shape_of(x)?, g.shape_of(other)?);
    let axes = g.op("BroadcastGradientArgs", [shape_x.into(), shape_other.into()], &[])?;
    let summed = g.op("Sum", [dx.into(), axes.into()], &[("keep_dims", Attr::Bool(false))])?;
    g.binary("Reshape", summed, shape_x)
}

/// The gradients of `f(x, y)` elementwise, each reduced (summed) to the shape of its input.
pub fn broadcast_pair(g: &mut GradCall<'_>, dx: Output, dy: Output) -> Result<Vec<Grad>> {
    let (x, y) = (g.x[0], g.x[1]);
    Ok(vec![sum_to_shape_of(g, dx, x, y)?.into(), sum_to_shape_of(g, dy, y, x)?.into()])
}

/// The conjugate, where the type is complex.
pub fn conj(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    if g.graph.dtype(x).is_complex() { g.unary("Conj", x) } else { Ok(x) }
}

/// The gradient of the only output under the shape of `x`: for ops that only change the shape.
pub fn reshape_like(g: &mut GradCall<'_>, x: Output) -> Result<Grad> {
    let (dy, shape) = (g.dy()?, g.shape_of(x)?);
    Ok(g.binary("Reshape", dy, shape)?.into())
}

/// Input `i` of the node, conjugated where the type is complex.
pub fn conj_x(g: &mut GradCall<'_>, i: usize) -> Result<Output> {
    let x = g.x[i];
    conj(g, x)
}

/// Output `i` of the node, conjugated where the type is complex.
pub fn conj_y(g: &mut GradCall<'_>, i: usize) -> Result<Output> {
    let y = g.y[i];
    conj(g, y)
}

/// The gradient of a unary function: its derivative times dy.
pub fn times_dy(g: &mut GradCall<'_>, slope: Output) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    Ok(vec![g.binary("Mul", dy, slope)?.into()])
}

/// The gradient of a unary function, from its derivative at `x`.
pub fn slope_at_x(
    g: &mut GradCall<'_>,
    slope: impl FnOnce(&mut GradCall<'_>, Output) -> Result<Output>,
) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let slope = slope(g, x)?;
    times_dy(g, slope)
}

/// The gradient of a unary function, from its derivative in terms of `y`.
pub fn slope_at_y(
    g: &mut GradCall<'_>,
    slope: impl FnOnce(&mut GradCall<'_>, Output) -> Result<Output>,
) -> Result<Vec<Grad>> {
    let y = conj_y(g, 0)?;
    let slope = slope(g, y)?;
    times_dy(g, slope)
}

/// The gradient of a function of one input, by an op that takes the result and dy.
pub fn grad_op_of_y(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (y, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary(op, y, dy)?.into()])
}

/// 1 where `x` is not 0, and 0 elsewhere, in the type of `x`.
pub fn one_where_not_zero(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let zero = g.number(0.0, x)?;
    let present = g.binary("NotEqual", x, zero)?;
    cast(g, present, x)
}

/// `x` in the type of `like`.
pub fn cast(g: &mut GradCall<'_>, x: Output, like: Output) -> Result<Output> {
    let (from, to) = (g.graph.dtype(x), g.graph.dtype(like));
    if from == to { Ok(x) } else { g.op("Cast", [x.into()], &[("DstT", Attr::Type(to))]) }
}

/// The gradient of an op that flattens patches of images or volumes to channels: patches of an image of pixel numbers are the
/// indices to scatter-add the gradient to. Pixel 0 is the padding.
pub fn of_patches(g: &mut GradCall<'_>, op: &str, window: &[&'static str]) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let rank = g.graph.shape(dy).rank().ok_or_else(|| invalid!("patches of an unknown rank"))?;
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let shape = g.shape_of(x)?;
    let sizes = g.ops("Unpack", [shape.into()], &[("num", (rank as i64).into())])?;
    let [batch, space @ .., depth] = &sizes[..] else { return Err(internal("a size for each dimension")) };
    let mut pixels = one;
    for size in space {
        pixels = g.binary("Mul", pixels, *size)?;
    }
    let end = g.binary("AddV2", pixels, one)?;
    let numbers = g.op("Range", [one.into(), end.into(), one.into()], &[])?;
    let image: Vec<Output> = [one].iter().chain(space).chain([&one]).copied().collect();
    let image = g.op("Pack", [image.into()], &[])?;
    let numbers = g.binary("Reshape", numbers, image)?;
    let window: Vec<(&'static str, Attr)> =
        window.iter().filter_map(|name| Some((*name, g.attrs.get(name)?.clone()))).collect();
    let sources = g.op(op, [numbers.into()], &window)?;
    let all = g.constant(int_vector(&[-1]))?;
    let sources = g.binary("Reshape", sources, all)?;
    let n = g.unary("Size", sources)?;
    // dy as [source, batch, depth], and the sums back as [batch, pixel, depth].
    let swap = g.constant(int_vector(&[1, 0, 2]))?;
    let split = g.op("Pack", [vec![*batch, n, *depth].into()], &[])?;
    let dy = g.binary("Reshape", dy, split)?;
    let dy = g.binary("Transpose", dy, swap)?;
    let sums = g.op("UnsortedSegmentSum", [dy.into(), sources.into(), end.into()], &[])?;
    let begin = g.op("Pack", [vec![one, zero, zero].into()], &[])?;
    let size = g.constant(int_vector(&[-1, -1, -1]))?;
    let sums = g.op("Slice", [sums.into(), begin.into(), size.into()], &[])?;
    let sums = g.binary("Transpose", sums, swap)?;
    Ok(vec![g.binary("Reshape", sums, shape)?.into()])
}
