//! `Atan2`: the angle of the point (x, y).

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static ATAN2: Op = Op {
    name: "Atan2",
    doc: "The angle of the point (x, y) from the x axis, in radians, elementwise; shapes broadcast.",
    inputs: &["y: T", "x: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (y, x, dz) = (g.x[0], g.x[1], g.dy()?);
    let (xx, yy) = (g.unary("Square", x)?, g.unary("Square", y)?);
    let radius = g.binary("AddV2", xx, yy)?;
    let scaled = g.binary("RealDiv", dz, radius)?;
    let dy = g.binary("Mul", x, scaled)?;
    let minus = g.unary("Neg", y)?;
    let dx = g.binary("Mul", minus, scaled)?;
    broadcast_pair(g, dy, dx)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |y: T, x: T| y.via2(x, f32::atan2, f64::atan2))
}
