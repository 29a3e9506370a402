//! `TruncateMod` and `Mod`: the remainder of division rounded towards zero.

use super::no_zero_divisor;
use crate::prelude::*;

pub static TRUNCATE_MOD: Op = Op {
    name: "TruncateMod",
    doc: "The remainder of x / y with the sign of x, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {int32, int64, bfloat16, half, float, double}"],
    shape: broadcast,
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_integer: T in i32, i64),
    cases: |r| vec![Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])])],
    ..Op::PURE
};

pub static MOD: Op =
    Op { name: "Mod", attrs: &["T: {int32, int64, half, half, bfloat16, float, double}"], ..TRUNCATE_MOD };

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.truncate_mod(y))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    no_zero_divisor::<T>(c)?;
    run::<T>(c)
}
