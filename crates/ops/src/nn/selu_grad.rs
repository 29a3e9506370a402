//! `SeluGrad`: the gradient of `Selu`.

use super::selu::{ALPHA, SCALE};
use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static SELU_GRAD: Op = Op {
    name: "SeluGrad",
    doc: "gradients * (outputs + scale * alpha) where outputs are negative, gradients * scale elsewhere.",
    inputs: &["gradients: T", "outputs: T"],
    outputs: &["backprops: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dy, y, d) = (g.x[0], g.x[1], g.dy()?);
    let (zero, zeros) = (g.number(0.0, y)?, g.unary("ZerosLike", y)?);
    let product = g.binary("Mul", d, dy)?;
    let below = g.binary("Less", y, zero)?;
    let bend = g.op("Select", [below.into(), product.into(), zeros.into()], &[])?;
    Ok(vec![g.binary("SeluGrad", d, y)?.into(), bend.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (scale, scaled_alpha) = (T::from_f64(SCALE), T::from_f64(SCALE * ALPHA));
    binary_alike(c, move |dy: T, y: T| if y < T::ZERO { dy.mul(y.add(scaled_alpha)) } else { dy.mul(scale) })
}
