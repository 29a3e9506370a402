//! `RsqrtGrad`: the gradient of `Rsqrt`.

use crate::elementwise::{binary_alike, if_any};
use crate::gradients::{conj, conj_x};
use crate::prelude::*;

pub static RSQRT_GRAD: Op = Op {
    name: "RsqrtGrad",
    doc: "dy * -0.5 * y^3, where y = rsqrt(x).",
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
    let (a, b, d) = (conj_x(g, 0)?, g.x[1], g.dy()?);
    let conjugate = conj(g, d)?;
    let factor = g.number(-1.5, d)?;
    let scaled = g.binary("Mul", factor, conjugate)?;
    let with_b = g.binary("Mul", scaled, b)?;
    let square = g.unary("Square", a)?;
    Ok(vec![g.binary("Mul", with_b, square)?.into(), g.binary("RsqrtGrad", a, d)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, T::from_f64(-0.5).mul(dy).mul(y).mul(y.mul(y))))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, T::from_f64(-0.5).mul(dy).mul(y.mul(y).mul(y).conjugate())))
}
