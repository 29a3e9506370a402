//! `Elu`: exp(x) - 1 below 0, x above.

use crate::prelude::*;

pub static ELU: Op = Op {
    name: "Elu",
    doc: "features where positive, exp(features) - 1 elsewhere.",
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (v, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary("EluGrad", dy, v)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| if x < T::ZERO { x.via(f32::exp_m1, f64::exp_m1) } else { x })
}
