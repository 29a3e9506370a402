//! `TanhGrad`: the gradient of `Tanh`.

use crate::elementwise::binary_alike;
use crate::gradients::conj_x;
use crate::prelude::*;

pub static TANH_GRAD: Op = Op {
    name: "TanhGrad",
    doc: "dy * (1 - y * y), where y = tanh(x).",
    inputs: &["y: T", "dy: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, b, d) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let minus_two = g.number(-2.0, d)?;
    let scaled = g.binary("Mul", d, minus_two)?;
    let with_b = g.binary("Mul", scaled, b)?;
    Ok(vec![g.binary("Mul", with_b, a)?.into(), g.binary("TanhGrad", a, d)?.into()])
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| dy.mul(T::ONE.sub(y.mul(y))))
}
