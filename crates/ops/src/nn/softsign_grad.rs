//! `SoftsignGrad`: the gradient of `Softsign`.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static SOFTSIGN_GRAD: Op = Op {
    name: "SoftsignGrad",
    doc: "gradients / (|features| + 1)^2, elementwise.",
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: shape_call::all_inputs_alike,
    grad: Missing,
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |dy: T, x: T| {
        let size = T::ONE.add(x.absolute());
        dy.div(size.mul(size))
    })
}
