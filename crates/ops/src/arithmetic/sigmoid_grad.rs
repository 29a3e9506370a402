//! `SigmoidGrad`: the gradient of `Sigmoid`.

use crate::elementwise::binary_alike;
use crate::gradients::conj_x;
use crate::prelude::*;

pub static SIGMOID_GRAD: Op = Op {
    name: "SigmoidGrad",
    doc: "dy * y * (1 - y), where y = sigmoid(x).",
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
    let db = g.binary("Mul", d, b)?;
    let two = g.number(2.0, db)?;
    let twice = g.binary("Mul", two, db)?;
    let with_a = g.binary("Mul", twice, a)?;
    Ok(vec![g.binary("Sub", db, with_a)?.into(), g.binary("SigmoidGrad", a, d)?.into()])
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| dy.mul(y.mul(T::ONE.sub(y))))
}
