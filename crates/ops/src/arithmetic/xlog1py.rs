//! `Xlog1py`: x · log(1 + y), and 0 where x is 0.

use crate::gradients::{broadcast_pair, conj_x, one_where_not_zero};
use crate::prelude::*;

pub static XLOG1PY: Op = Op {
    name: "Xlog1py",
    doc: "x * log(1 + y), elementwise, but 0 where x is 0, even if y is -1; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {half, bfloat16, float, double, complex64, complex128}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.positive(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let present = one_where_not_zero(g, x)?;
    let slope_x = g.binary("Xlog1py", present, y)?;
    let one = g.number(1.0, y)?;
    let sum = g.binary("Add", y, one)?;
    let slope_y = g.binary("Xdivy", x, sum)?;
    let (dx, dy) = (g.binary("Mul", slope_x, dz)?, g.binary("Mul", slope_y, dz)?);
    broadcast_pair(g, dx, dy)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| if x == T::ZERO { x } else { x.mul(y.via(f32::ln_1p, f64::ln_1p)) })
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| if x == T::ZERO { x } else { x.mul(y.map(|z| (z + 1.0).ln())) })
}
