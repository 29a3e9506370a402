//! `Exp`: e to the x.

use crate::gradients::{conj_y, times_dy};
use crate::prelude::*;

pub static EXP: Op = Op {
    name: "Exp",
    doc: "e to the power x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let y = conj_y(g, 0)?;
    times_dy(g, y)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::exp, f64::exp))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.exp()))
}

fn tile<T: Float>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.via(f32::exp, f64::exp))
}
