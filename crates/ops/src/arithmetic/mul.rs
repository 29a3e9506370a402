//! `Mul`: x · y.

use crate::gradients::{broadcast_pair, conj};
use crate::prelude::*;

pub static MUL: Op = Op {
    name: "Mul",
    doc: "x * y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 1, 3]), r.tensor(&[4, 1])]),
        ]
    },
    commutative: true,
    tiles: &[Tile::F32Binary(tile::<f32>), Tile::F64Binary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
    let (cx, cy) = (conj(g, x)?, conj(g, y)?);
    let (dx, dy) = (g.binary("Mul", dz, cy)?, g.binary("Mul", cx, dz)?);
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.mul(y))
}

fn tile<T: Number>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| x.mul(y))
}
