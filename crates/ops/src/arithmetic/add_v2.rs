//! `AddV2`: x + y.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static ADD_V2: Op = Op {
    name: "AddV2",
    doc: "x + y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    commutative: true,
    epilogue: Some(SUM_EPILOGUE),
    tiles: &[Tile::F32Binary(tile::<f32>), Tile::F64Binary(tile::<f64>)],
    ..Op::PURE
};

/// The second input first: what is summed up step by step is the first.
pub const SUM_EPILOGUE: Epilogue = Epilogue { product: &[1, 0], after_another: false };

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dz = g.dy()?;
    broadcast_pair(g, dz, dz)
}

pub fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.add(y))
}

fn tile<T: Number>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| x.add(y))
}
