//! `Imag`: the imaginary part.

use super::complex::{complex_case, complex_of};
use crate::prelude::*;

pub static IMAG: Op = Op {
    name: "Imag",
    doc: "The imaginary part of a complex number, elementwise.",
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
    Ok(vec![complex_of(g, zero, dy, x)?.into()])
}

fn run<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.im())
}
