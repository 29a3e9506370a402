//! `Minimum`: the smaller of x and y.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static MINIMUM: Op = Op {
    name: "Minimum",
    doc: "The smaller of x and y, elementwise; NaN if either is; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
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
    let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
    let is_x = g.binary("LessEqual", x, y)?;
    let zero = g.number(0.0, dz)?;
    let dx = g.op("SelectV2", [is_x.into(), dz.into(), zero.into()], &[])?;
    let dy = g.op("SelectV2", [is_x.into(), zero.into(), dz.into()], &[])?;
    broadcast_pair(g, dx, dy)
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.smaller(y))
}

fn tile<T: Real>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| x.smaller(y))
}
