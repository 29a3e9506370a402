//! `Cos`: the cosine.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static COS: Op = Op {
    name: "Cos",
    doc: "cos(x), elementwise; x in radians.",
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
    let x = conj_x(g, 0)?;
    let sin = g.unary("Sin", x)?;
    let slope = g.unary("Neg", sin)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::cos, f64::cos))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.cos()))
}
