//! `SquaredDifference`: (x - y)².

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static SQUARED_DIFFERENCE: Op = Op {
    name: "SquaredDifference",
    doc: "(x - y)^2, elementwise; conj(x - y) * (x - y) for complex numbers; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i32, i64; run_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    commutative: true,
    tiles: &[Tile::F32Binary(tile::<f32>), Tile::F64Binary(tile::<f64>)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
    let two = g.number(2.0, dz)?;
    let scaled = g.binary("Mul", two, dz)?;
    let difference = g.binary("Sub", x, y)?;
    let dx = g.binary("Mul", scaled, difference)?;
    let dy = g.unary("Neg", dx)?;
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| square(x.sub(y)))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.sub(y).conjugate().mul(x.sub(y)))
}

fn tile<T: Number>(x: &[T], y: &[T], z: &mut [T]) {
    tile2(x, y, z, |x, y| square(x.sub(y)))
}

#[inline]
fn square<T: Number>(d: T) -> T {
    d.mul(d)
}
