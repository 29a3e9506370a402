//! `Div`: x / y.

use super::no_zero_divisor;
use crate::gradients::{broadcast_pair, conj_x};
use crate::prelude::*;

pub static DIV: Op = Op {
    name: "Div",
    doc: "x / y, elementwise; integers are rounded towards zero; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble; run_integer: T in i32, i64, u8, u16, u32, u64, i8, i16),
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
    let dx = g.binary("Div", dz, y)?;
    let minus = g.unary("Neg", x)?;
    let once = g.binary("Div", minus, y)?;
    let twice = g.binary("Div", once, y)?;
    let dy = g.binary("Mul", dz, twice)?;
    broadcast_pair(g, dx, dy)
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.div(y))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    no_zero_divisor::<T>(c)?;
    binary(c, |x: T, y: T| x.div(y))
}
