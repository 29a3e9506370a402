//! `TruncateDiv`: x / y rounded towards zero.

use super::no_zero_divisor;
use crate::prelude::*;

pub static TRUNCATE_DIV: Op = Op {
    name: "TruncateDiv",
    doc: "x / y rounded towards zero, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_integer: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.div(y).via(f32::trunc, f64::trunc))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    no_zero_divisor::<T>(c)?;
    binary(c, |x: T, y: T| x.div(y))
}
