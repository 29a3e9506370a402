//! `Conj`: the conjugate of a complex number.

use super::complex::complex_case;
use crate::prelude::*;

pub static CONJ: Op = Op {
    name: "Conj",
    doc: "The conjugate of a complex number, elementwise.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: {complex64, complex128, variant} = DT_COMPLEX64"],
    shape: same_as_input,
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("Conj", dy)?.into()])
    }),
    kernels: cpu!(run: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![complex_case(r)])],
    ..Op::PURE
};

fn run<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.conjugate())
}
