//! `Log`: the natural logarithm.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static LOG: Op = Op {
    name: "Log",
    doc: "The natural logarithm of x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.positive(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let slope = g.unary("Reciprocal", x)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::ln, f64::ln))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.ln()))
}

fn tile<T: Float>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.via(f32::ln, f64::ln))
}
