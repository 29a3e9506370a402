//! `Neg`: -x.

use crate::prelude::*;

pub static NEG: Op = Op {
    name: "Neg",
    doc: "-x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("Neg", dy)?.into()])
    }),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i8, i16, i32, i64, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.neg())
}

fn tile<T: Number>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.neg())
}
