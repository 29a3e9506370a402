//! `Complex`: a complex number of its two parts.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static COMPLEX: Op = Op {
    name: "Complex",
    doc: "real + imag * i, elementwise; shapes broadcast.",
    inputs: &["real: T", "imag: T"],
    outputs: &["out: Tout"],
    attrs: &["T: {float, double} = DT_FLOAT", "Tout: {complex64, complex128} = DT_COMPLEX64"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: &[
        cpu_row!([("T", DataType::Float), ("Tout", DataType::Complex64)], Make::Plain(run::<Complex32>)),
        cpu_row!(
            [("T", DataType::Double), ("Tout", DataType::Complex128)],
            Make::Plain(run::<ComplexDouble>)
        ),
    ],
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (real, dz) = (g.x[0], g.dy()?);
    let part = Attr::Type(g.graph.dtype(real));
    let re = g.op("Real", [dz.into()], &[("Tout", part.clone())])?;
    let im = g.op("Imag", [dz.into()], &[("Tout", part)])?;
    broadcast_pair(g, re, im)
}

fn run<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |re: Z::Part, im: Z::Part| Z::new(re, im))
}

/// In a gradient: the complex number of two real tensors, in the type of `like`.
pub fn complex_of(g: &mut GradCall<'_>, re: Output, im: Output, like: Output) -> Result<Output> {
    let dtype = g.graph.dtype(like);
    g.op("Complex", [re.into(), im.into()], &[("Tout", Attr::Type(dtype))])
}

/// Complex numbers for the cases of the ops that take them apart.
pub fn complex_case(r: &mut CaseGen) -> Tensor {
    let values: Vec<Complex32> =
        (0..6).map(|_| Complex32::new(r.unit() as f32 + 0.2, 1.2 - r.unit() as f32)).collect();
    Tensor::vector(&values).unwrap_or_else(|_| Tensor::scalar(Complex32::ONE))
}
