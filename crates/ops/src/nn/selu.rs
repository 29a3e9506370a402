//! `Selu`: the scaled exponential linear function.

use crate::prelude::*;

/// The two constants that keep mean and variance of activations, from the paper.
pub const SCALE: f64 = 1.0507009873554804934193349852946;
pub const ALPHA: f64 = 1.6732632423543772848170429916717;

pub static SELU: Op = Op {
    name: "Selu",
    doc: "scale * features where positive, scale * alpha * (exp(features) - 1) elsewhere.",
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (v, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary("SeluGrad", dy, v)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (scale, scaled_alpha) = (T::from_f64(SCALE), T::from_f64(SCALE * ALPHA));
    unary(
        c,
        move |x: T| {
            if x < T::ZERO { scaled_alpha.mul(x.via(f32::exp_m1, f64::exp_m1)) } else { scale.mul(x) }
        },
    )
}
