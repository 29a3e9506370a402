//! `Angle`: the angle of a complex number.

use super::complex::{complex_case, complex_of};
use crate::prelude::*;

pub static ANGLE: Op = Op {
    name: "Angle",
    doc: "The angle of a complex number from the real axis, in radians, elementwise.",
    inputs: &["input: T"],
    outputs: &["output: Tout"],
    attrs: &["T: {complex64, complex128} = DT_COMPLEX64", "Tout: {float, double} = DT_FLOAT"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: &[
        cpu_row!([("T", DataType::Complex64), ("Tout", DataType::Float)], Make::Plain(run::<Complex32>)),
        cpu_row!(
            [("T", DataType::Complex128), ("Tout", DataType::Double)],
            Make::Plain(run::<ComplexDouble>)
        ),
    ],
    cases: |r| vec![Case::new(vec![complex_case(r)])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let zero = g.number(0.0, dy)?;
    let part = [("Tout", Attr::Type(g.graph.dtype(dy)))];
    let (re, im) = (g.op("Real", [x.into()], &part)?, g.op("Imag", [x.into()], &part)?);
    let swapped = complex_of(g, im, re, x)?;
    let inverse = g.unary("Reciprocal", swapped)?;
    let flow = complex_of(g, dy, zero, x)?;
    let minus = g.unary("Neg", flow)?;
    Ok(vec![g.binary("Mul", minus, inverse)?.into()])
}

fn run<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.im().via2(x.re(), f32::atan2, f64::atan2))
}
