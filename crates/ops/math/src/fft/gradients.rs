//! Gradients of Fourier transforms: transforms back.

use crate::gradients::cast;
use crate::prelude::*;

/// The product of a vector of sizes, in the type of `like`.
fn product(g: &mut GradCall<'_>, sizes: Output, like: Output) -> Result<Output> {
    let zero = g.constant(int_vector(&[0]))?;
    let count = g.binary("Prod", sizes, zero)?;
    cast(g, count, like)
}

/// Of `FFT` and `IFFT` over one to three dimensions.
pub fn complex(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let (back, from) = match g.op {
        "FFT" => ("IFFT", -1),
        "FFT2D" => ("IFFT2D", -2),
        "FFT3D" => ("IFFT3D", -3),
        "IFFT" => ("FFT", -1),
        "IFFT2D" => ("FFT2D", -2),
        _ => ("FFT3D", -3),
    };
    let forward = !g.op.starts_with('I');
    let shape = g.shape_of(dy)?;
    let (start, end) = (g.constant(int_vector(&[from]))?, g.constant(int_vector(&[0]))?);
    let one = g.constant(int_vector(&[1]))?;
    let args = [shape.into(), start.into(), end.into(), one.into()];
    let sizes = g.op("StridedSlice", args, &[("end_mask", Attr::Int(1))])?;
    let count = product(g, sizes, dy)?;
    let dx = g.unary(back, dy)?;
    Ok(vec![g.binary(if forward { "Mul" } else { "Div" }, dx, count)?.into()])
}

/// 1 for the elements of half a spectrum that stand for themselves, `others` for those whose conjugate was left out.
fn weights(g: &mut GradCall<'_>, lengths: Output, others: f64, like: Output) -> Result<Output> {
    let (last, one) = (g.constant(int_vector(&[-1]))?, g.constant(int_vector(&[1]))?);
    let end = g.constant(int_vector(&[0]))?;
    let masks = [("end_mask", Attr::Int(1)), ("shrink_axis_mask", Attr::Int(1))];
    let length = g.op("StridedSlice", [lengths.into(), last.into(), end.into(), one.into()], &masks)?;
    let numbers: Vec<Output> = (0..3).map(|n| g.constant(Tensor::scalar::<i32>(n))).collect::<Result<_>>()?;
    let (zero, one, two) = (numbers[0], numbers[1], numbers[2]);
    let half = g.binary("FloorDiv", length, two)?;
    let kept = g.binary("AddV2", half, one)?;
    let k = g.op("Range", [zero.into(), kept.into(), one.into()], &[])?;
    let doubled = g.binary("Mul", k, two)?;
    let (is_first, is_middle) = (g.binary("Equal", k, zero)?, g.binary("Equal", doubled, length)?);
    let alone = g.binary("LogicalOr", is_first, is_middle)?;
    let (one, others) = (g.number(1.0, like)?, g.number(others, like)?);
    g.op("SelectV2", [alone.into(), one.into(), others.into()], &[])
}

/// Zeros after a gradient of the part of the input that was used.
fn padded(g: &mut GradCall<'_>, dx: Output, x: Output) -> Result<Output> {
    let (have, want) = (g.graph.shape(dx), g.graph.shape(x));
    if want.is_fully_known() && have == want {
        return Ok(dx);
    }
    let (have, want) = (g.shape_of(dx)?, g.shape_of(x)?);
    let (after, before) = (g.binary("Sub", want, have)?, g.unary("ZerosLike", have)?);
    let paddings = g.op("Pack", [vec![before, after].into()], &[("axis", Attr::Int(1))])?;
    g.binary("Pad", dx, paddings)
}

/// The transform back, of the same precision.
fn back(g: &mut GradCall<'_>, op: &str, x: Output, lengths: Output) -> Result<Output> {
    let types = [("Treal", g.attrs.dtype("Treal")?), ("Tcomplex", g.attrs.dtype("Tcomplex")?)];
    let types = types.map(|(name, t)| (name, Attr::Type(t)));
    g.op(op, [x.into(), lengths.into()], &types)
}

/// Of `RFFT` and `RFFT2D`.
pub fn real_forward(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, lengths, dy) = (g.x[0], g.x[1], g.dy()?);
    let weights = weights(g, lengths, 0.5, dy)?;
    let weighed = g.binary("Mul", dy, weights)?;
    let op = if g.op == "RFFT" { "IRFFT" } else { "IRFFT2D" };
    let dx = back(g, op, weighed, lengths)?;
    let count = product(g, lengths, dx)?;
    let dx = g.binary("Mul", dx, count)?;
    Ok(vec![padded(g, dx, x)?.into(), Grad::None])
}

/// Of `IRFFT` and `IRFFT2D`.
pub fn real_inverse(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, lengths, dy) = (g.x[0], g.x[1], g.dy()?);
    let op = if g.op == "IRFFT" { "RFFT" } else { "RFFT2D" };
    let dx = back(g, op, dy, lengths)?;
    let (weights, count) = (weights(g, lengths, 2.0, dx)?, product(g, lengths, dx)?);
    let weighed = g.binary("Mul", dx, weights)?;
    let dx = g.binary("Div", weighed, count)?;
    Ok(vec![padded(g, dx, x)?.into(), Grad::None])
}
