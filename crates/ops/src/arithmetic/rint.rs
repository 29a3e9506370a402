//! `Rint`: the nearest integer, halves to the even one.

use crate::prelude::*;

pub static RINT: Op = Op {
    name: "Rint",
    doc: "The integer nearest to x, elementwise; halves go to the even one.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::round_ties_even, f64::round_ties_even))
}
