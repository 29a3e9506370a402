//! `MulNoNan`: x · y, and 0 where y is 0.

use crate::gradients::{broadcast_pair, conj_x};
use crate::prelude::*;

pub static MUL_NO_NAN: Op = Op {
    name: "MulNoNan",
    doc: "x * y, elementwise, but 0 where y is 0, whatever x is; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let (dx, dy) = (g.binary("MulNoNan", dz, y)?, g.binary("MulNoNan", x, dz)?);
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| if y == T::ZERO { T::ZERO } else { x.mul(y) })
}
