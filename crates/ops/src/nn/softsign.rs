//! `Softsign`: x / (|x| + 1).

use crate::prelude::*;

pub static SOFTSIGN: Op = Op {
    name: "Softsign",
    doc: "features / (|features| + 1), elementwise.",
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
    let (v, dy) = (g.x[0], g.dy()?);
    Ok(vec![g.binary("SoftsignGrad", dy, v)?.into()])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.div(T::ONE.add(x.absolute())))
}
