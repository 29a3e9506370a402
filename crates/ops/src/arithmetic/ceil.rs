//! `Ceil`: the next integer above.

use crate::prelude::*;

pub static CEIL: Op = Op {
    name: "Ceil",
    doc: "The smallest integer not below x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::ceil, f64::ceil))
}

fn tile<T: Float>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.via(f32::ceil, f64::ceil))
}
