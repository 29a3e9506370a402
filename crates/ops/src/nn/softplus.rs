//! `Softplus`: log(exp(x) + 1).

use crate::prelude::*;

pub static SOFTPLUS: Op = Op {
    name: "Softplus",
    doc: "log(exp(features) + 1), elementwise.",
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
    let x = g.x[0];
    let slope = g.unary("Sigmoid", x)?;
    crate::gradients::times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| {
        let near = x.absolute().neg().via(f32::exp, f64::exp).via(f32::ln_1p, f64::ln_1p);
        x.larger(T::ZERO).add(near)
    })
}
