//! `LessEqual`: x ≤ y.

use crate::prelude::*;

pub static LESS_EQUAL: Op = Op {
    name: "LessEqual",
    doc: "Whether x <= y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: bool"],
    attrs: &["T: realnumbertype"],
    shape: broadcast,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 3), r.ints(&[3], 0, 3)])],
    ..Op::PURE
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x <= y)
}
