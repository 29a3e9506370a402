//! `Atanh`: the inverse hyperbolic tangent.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static ATANH: Op = Op {
    name: "Atanh",
    doc: "atanh(x), elementwise, for x in [-1, 1].",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -0.9, 0.9)])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let (one, square) = (g.number(1.0, x)?, g.unary("Square", x)?);
    let rest = g.binary("Sub", one, square)?;
    let slope = g.unary("Reciprocal", rest)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::atanh, f64::atanh))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.atanh()))
}
