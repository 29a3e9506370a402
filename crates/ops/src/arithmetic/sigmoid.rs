//! `Sigmoid`: the logistic function.

use crate::gradients::conj_y;
use crate::prelude::*;

pub static SIGMOID: Op = Op {
    name: "Sigmoid",
    doc: "1 / (1 + exp(-x)), elementwise.",
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
    let (y, dy) = (conj_y(g, 0)?, g.dy()?);
    Ok(vec![g.binary("SigmoidGrad", y, dy)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(|x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp())))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| 1.0 / (1.0 + (-z).exp())))
}

fn tile<T: Float>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.via(|x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp())))
}
