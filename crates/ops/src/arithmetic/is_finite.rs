//! `IsFinite`: whether x is finite.

use crate::prelude::*;

pub static IS_FINITE: Op = Op {
    name: "IsFinite",
    doc: "Whether x is neither infinite nor NaN, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: bool"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.to_f64().is_finite())
}
