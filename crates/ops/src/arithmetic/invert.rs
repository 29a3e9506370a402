//! `Invert`: the bits flipped.

use crate::prelude::*;

pub static INVERT: Op = Op {
    name: "Invert",
    doc: "x with every bit flipped, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 9)])],
    ..Op::PURE
};

fn run<T: Integer>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| !x)
}
