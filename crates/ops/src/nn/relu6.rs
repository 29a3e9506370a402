//! `Relu6`: numbers brought between 0 and 6.

use crate::prelude::*;

pub static RELU6: Op = Op {
    name: "Relu6",
    doc: "min(max(features, 0), 6), elementwise.",
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &["T: realnumbertype"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (v, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary("Relu6Grad", dy, v)?.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.larger(T::ZERO).smaller(T::from_i64(6)))
}
