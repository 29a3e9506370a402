//! `Tanh`: the hyperbolic tangent.

use crate::prelude::*;

pub static TANH: Op = Op {
    name: "Tanh",
    doc: "tanh(x), elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(|g| {
        let (y, dy) = (g.y[0], g.dy()?);
        Ok(vec![g.binary("TanhGrad", y, dy)?.into()])
    }),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::tanh, f64::tanh))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.tanh()))
}
