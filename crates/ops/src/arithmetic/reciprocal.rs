//! `Reciprocal`, under its old name `Inv` too: 1 / x.

use crate::prelude::*;

pub static RECIPROCAL: Op = Op {
    name: "Reciprocal",
    doc: "1 / x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(|g| {
        let (y, dy) = (g.y[0], g.dy()?);
        Ok(vec![g.binary("ReciprocalGrad", y, dy)?.into()])
    }),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

pub static INV: Op = Op { name: "Inv", ..RECIPROCAL };

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| T::ONE.div(x))
}

fn tile<T: Number>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| T::ONE.div(x))
}
