//! `Lgamma`: the logarithm of the absolute value of the gamma function.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static LGAMMA: Op = Op {
    name: "Lgamma",
    doc: "log(|gamma(x)|), elementwise.",
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
    let slope = g.unary("Digamma", x)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(libm::lgammaf, libm::lgamma))
}
