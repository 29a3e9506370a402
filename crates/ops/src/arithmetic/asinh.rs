//! `Asinh`: the inverse hyperbolic sine.

use crate::gradients::{conj_y, times_dy};
use crate::prelude::*;

pub static ASINH: Op = Op {
    name: "Asinh",
    doc: "asinh(x), elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let y = conj_y(g, 0)?;
    let cosh = g.unary("Cosh", y)?;
    let slope = g.unary("Reciprocal", cosh)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(|x| asinh(x as f64) as f32, asinh))
}

/// Without the overflow of `f64::asinh`, which doubles x before it takes the logarithm.
fn asinh(x: f64) -> f64 {
    if x.abs() > 1e9 { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) } else { x.asinh() }
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.asinh()))
}
