//! `LeftShift`: bits moved left.

use crate::prelude::*;

pub static LEFT_SHIFT: Op = Op {
    name: "LeftShift",
    doc: "x with its bits moved left by y places, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"],
    shape: broadcast,
    grad: Stops,
    kernels: cpu!(run: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 9), r.ints(&[3], 0, 9)])],
    ..Op::PURE
};

fn run<T: Integer>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.shifted_left(y))
}
