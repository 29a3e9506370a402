//! `RealDiv`: x / y for real and complex numbers.

use crate::gradients::{broadcast_pair, conj_x};
use crate::prelude::*;

pub static REAL_DIV: Op = Op {
    name: "RealDiv",
    doc: "x / y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    tiles: &[Tile::F32Binary(tile::<f32>), Tile::F64Binary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let dx = g.binary("RealDiv", dz, y)?;
    let minus = g.unary("Neg", x)?;
    let once = g.binary("RealDiv", minus, y)?;
    let twice = g.binary("RealDiv", once, y)?;
    let dy = g.binary("Mul", dz, twice)?;
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.div(y))
}

fn tile<T: Number>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| x.div(y))
}
