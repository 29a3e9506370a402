//! `Relu6Grad`: the gradient of `Relu6`.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static RELU6_GRAD: Op = Op {
    name: "Relu6Grad",
    doc: "gradients where features are between 0 and 6, 0 elsewhere.",
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    attrs: &["T: realnumbertype"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, d) = (g.x[1], g.dy()?);
    Ok(vec![g.binary("Relu6Grad", d, x)?.into(), g.unary("ZerosLike", x)?.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let six = T::from_i64(6);
    binary_alike(c, move |dy: T, x: T| dy.mul(if x > T::ZERO && x < six { T::ONE } else { T::ZERO }))
}
