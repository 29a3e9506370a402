//! `Erfc`: 1 less the error function.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static ERFC: Op = Op {
    name: "Erfc",
    doc: "1 - erf(x), elementwise, exact for large x.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let square = g.unary("Square", x)?;
    let minus = g.unary("Neg", square)?;
    let bell = g.unary("Exp", minus)?;
    let factor = g.number(-std::f64::consts::FRAC_2_SQRT_PI, x)?;
    let slope = g.binary("Mul", factor, bell)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(libm::erfcf, libm::erfc))
}
