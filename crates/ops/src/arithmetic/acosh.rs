//! `Acosh`: the inverse hyperbolic cosine.

use crate::gradients::{conj_y, times_dy};
use crate::prelude::*;

pub static ACOSH: Op = Op {
    name: "Acosh",
    doc: "acosh(x), elementwise, for x from 1.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], 1.2, 3.0)])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let y = conj_y(g, 0)?;
    let sinh = g.unary("Sinh", y)?;
    let slope = g.unary("Reciprocal", sinh)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::acosh, f64::acosh))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.acosh()))
}
