//! `Digamma`: the derivative of the logarithm of the gamma function.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;
use thalweg_math::special;

pub static DIGAMMA: Op = Op {
    name: "Digamma",
    doc: "psi(x), the derivative of lgamma, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.positive(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let one = g.number(1.0, x)?;
    let slope = g.binary("Polygamma", one, x)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(|x| special::digamma(x as f64) as f32, special::digamma))
}
