//! `DivNoNan`: x / y, and 0 where y is 0.

use crate::gradients::{broadcast_pair, conj_x};
use crate::prelude::*;

pub static DIV_NO_NAN: Op = Op {
    name: "DivNoNan",
    doc: "x / y, elementwise, but 0 where y is 0; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {half, float, bfloat16, double, complex64, complex128}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let dx = g.binary("DivNoNan", dz, y)?;
    let minus = g.unary("Neg", x)?;
    let once = g.binary("DivNoNan", minus, y)?;
    let twice = g.binary("DivNoNan", once, y)?;
    let dy = g.binary("Mul", dz, twice)?;
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| if y == T::ZERO { T::ZERO } else { x.div(y) })
}
