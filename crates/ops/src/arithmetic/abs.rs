//! `Abs`: the absolute value.

use crate::gradients::times_dy;
use crate::prelude::*;

pub static ABS: Op = Op {
    name: "Abs",
    doc: "The absolute value of x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i32, i64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = g.x[0];
    let sign = g.unary("Sign", x)?;
    times_dy(g, sign)
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.absolute())
}

fn tile<T: Real>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.absolute())
}
