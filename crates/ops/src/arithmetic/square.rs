//! `Square`: x · x.

use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;

pub static SQUARE: Op = Op {
    name: "Square",
    doc: "x * x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
    ],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let two = g.number(2.0, x)?;
    let slope = g.binary("Mul", two, x)?;
    times_dy(g, slope)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.mul(x))
}

fn tile<T: Number>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.mul(x))
}
