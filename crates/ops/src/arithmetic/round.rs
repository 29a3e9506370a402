//! `Round`: the nearest integer, halves to the even one.

use crate::prelude::*;

pub static ROUND: Op = Op {
    name: "Round",
    doc: "The integer nearest to x, elementwise; halves go to the even one.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16; same: T in i32, i64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::round_ties_even, f64::round_ties_even))
}

fn same<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.take(0)?;
    debug_assert_eq!(x.dtype(), T::DTYPE);
    c.set(0, x);
    Ok(())
}
