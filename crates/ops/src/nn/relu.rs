//! `Relu`: negative numbers become 0.

use crate::prelude::*;

pub static RELU: Op = Op {
    name: "Relu",
    doc: "max(features, 0), elementwise.",
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}",
    ],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    epilogue: Some(Epilogue { product: &[0], after_another: true }),
    tiles: &[Tile::F32Unary(tile::<f32>), Tile::F64Unary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (v, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary("ReluGrad", dy, v)?.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.larger(T::ZERO))
}

fn tile<T: Real>(x: &[T], y: &mut [T]) {
    tile1(x, y, |x| x.larger(T::ZERO))
}
