//! `ComplexAbs`: the absolute value of a complex number.

use super::complex::{complex_case, complex_of};
use crate::prelude::*;

pub static COMPLEX_ABS: Op = Op {
    name: "ComplexAbs",
    doc: "The absolute value of a complex number, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: Tout"],
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
    let y = g.y[0];
    let (flow, size) = (complex_of(g, dy, zero, x)?, complex_of(g, y, zero, x)?);
    let product = g.binary("Mul", flow, x)?;
    Ok(vec![g.binary("DivNoNan", product, size)?.into()])
}

fn run<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.map(|z| z.norm().into()).re())
}
