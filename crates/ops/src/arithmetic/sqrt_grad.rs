//! `SqrtGrad`: the gradient of `Sqrt`.

use crate::elementwise::{binary_alike, if_any};
use crate::gradients::conj;
use crate::prelude::*;

pub static SQRT_GRAD: Op = Op {
    name: "SqrtGrad",
    doc: "dy * 0.5 / y, where y = sqrt(x).",
    inputs: &["y: T", "dy: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, y, d) = (g.x[0], g.y[0], g.dy()?);
    let da = g.binary("RealDiv", d, a)?;
    let (conjugate, half) = (conj(g, da)?, g.number(0.5, da)?);
    let minus = g.unary("Neg", conjugate)?;
    Ok(vec![g.binary("Mul", minus, y)?.into(), g.binary("Mul", half, da)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, T::from_f64(0.5).mul(dy).div(y)))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, T::from_f64(0.5).mul(dy).div(y.conjugate())))
}
