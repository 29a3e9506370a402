//! `Sub`: x - y.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static SUB: Op = Op {
    name: "Sub",
    doc: "x - y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, uint32, uint64}",
    ],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    tiles: &[Tile::F32Binary(tile::<f32>), Tile::F64Binary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dz = g.dy()?;
    let minus = g.unary("Neg", dz)?;
    broadcast_pair(g, dz, minus)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.sub(y))
}

fn tile<T: Number>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| x.sub(y))
}
