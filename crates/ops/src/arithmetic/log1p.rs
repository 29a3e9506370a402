//! `Log1p`: the natural logarithm of 1 + x, exact near 0.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static LOG1P: Op = Op {
    name: "Log1p",
    doc: "log(1 + x), elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.positive(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let one = g.number(1.0, x)?;
    let sum = g.binary("Add", one, x)?;
    let slope = g.unary("Reciprocal", sum)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::ln_1p, f64::ln_1p))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| (z + 1.0).ln()))
}
