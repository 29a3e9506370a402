//! `SoftplusGrad`: the gradient of `Softplus`.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static SOFTPLUS_GRAD: Op = Op {
    name: "SoftplusGrad",
    doc: "gradients / (exp(-features) + 1), elementwise.",
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dy, x, d) = (g.x[0], g.x[1], g.dy()?);
    let minus = g.unary("Neg", x)?;
    let (up, down, two) = (g.unary("Exp", x)?, g.unary("Exp", minus)?, g.number(2.0, x)?);
    let sum = g.binary("AddV2", down, two)?;
    let sum = g.binary("AddV2", sum, up)?;
    let product = g.binary("Mul", d, dy)?;
    Ok(vec![g.binary("SoftplusGrad", d, x)?.into(), g.binary("RealDiv", product, sum)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |dy: T, x: T| dy.div(x.neg().via(f32::exp, f64::exp).add(T::ONE)))
}
