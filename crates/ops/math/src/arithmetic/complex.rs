//! Complex numbers and their parts.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&COMPLEX, &REAL, &IMAG, &ANGLE, &COMPLEX_ABS, &CONJ];

/// A real function of a complex number.
const PART: Op = Op {
    inputs: &["input: T"],
    outputs: &["output: Tout"],
    attrs: &["T: {complex64, complex128} = DT_COMPLEX64", "Tout: {float, double} = DT_FLOAT"],
    cases: |r| vec![Case::new(vec![complex_case(r)])],
    ..UNARY
};

/// Kernel rows of a function of the complex type.
macro_rules! part_rows {
    ($run:ident) => {
        &[
            cpu_row!([("T", DataType::Complex64), ("Tout", DataType::Float)], Make::Plain($run::<Complex32>)),
            cpu_row!(
                [("T", DataType::Complex128), ("Tout", DataType::Double)],
                Make::Plain($run::<ComplexDouble>)
            ),
        ]
    };
}

static COMPLEX: Op = Op {
    name: "Complex",
    doc: "real + imag * i, elementwise; shapes broadcast.",
    inputs: &["real: T", "imag: T"],
    outputs: &["out: Tout"],
    attrs: &["T: {float, double} = DT_FLOAT", "Tout: {complex64, complex128} = DT_COMPLEX64"],
    grad: Rule(|g| {
        let (real, dz) = (g.x[0], g.dy()?);
        let part = Attr::Type(g.graph.dtype(real));
        let re = g.op("Real", [dz.into()], &[("Tout", part.clone())])?;
        let im = g.op("Imag", [dz.into()], &[("Tout", part)])?;
        broadcast_pair(g, re, im)
    }),
    kernels: &[
        cpu_row!([("T", DataType::Float), ("Tout", DataType::Complex64)], Make::Plain(complex::<Complex32>)),
        cpu_row!(
            [("T", DataType::Double), ("Tout", DataType::Complex128)],
            Make::Plain(complex::<ComplexDouble>)
        ),
    ],
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[])]),
        ]
    },
    ..BINARY
};

static REAL: Op = Op {
    name: "Real",
    doc: "The real part of a complex number, elementwise.",
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let zero = g.number(0.0, dy)?;
        Ok(vec![complex_of(g, dy, zero, x)?.into()])
    }),
    kernels: part_rows!(real),
    ..PART
};

static IMAG: Op = Op {
    name: "Imag",
    doc: "The imaginary part of a complex number, elementwise.",
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let zero = g.number(0.0, dy)?;
        Ok(vec![complex_of(g, zero, dy, x)?.into()])
    }),
    kernels: part_rows!(imag),
    ..PART
};

static ANGLE: Op = Op {
    name: "Angle",
    doc: "The angle of a complex number from the real axis, in radians, elementwise.",
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let zero = g.number(0.0, dy)?;
        let part = [("Tout", Attr::Type(g.graph.dtype(dy)))];
        let (re, im) = (g.op("Real", [x.into()], &part)?, g.op("Imag", [x.into()], &part)?);
        let swapped = complex_of(g, im, re, x)?;
        let inverse = g.unary("Reciprocal", swapped)?;
        let flow = complex_of(g, dy, zero, x)?;
        let minus = g.unary("Neg", flow)?;
        Ok(vec![g.binary("Mul", minus, inverse)?.into()])
    }),
    kernels: part_rows!(angle),
    ..PART
};

static COMPLEX_ABS: Op = Op {
    name: "ComplexAbs",
    doc: "The absolute value of a complex number, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: Tout"],
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let zero = g.number(0.0, dy)?;
        let y = g.y[0];
        let (flow, size) = (complex_of(g, dy, zero, x)?, complex_of(g, y, zero, x)?);
        let product = g.binary("Mul", flow, x)?;
        Ok(vec![g.binary("DivNoNan", product, size)?.into()])
    }),
    kernels: part_rows!(complex_abs),
    ..PART
};

static CONJ: Op = Op {
    name: "Conj",
    doc: "The conjugate of a complex number, elementwise.",
    outputs: &["output: T"],
    attrs: &["T: {complex64, complex128, variant} = DT_COMPLEX64"],
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("Conj", dy)?.into()])
    }),
    ..unary!(PART, T: ComplexNumber in complexes => |z| z.conjugate())
};

fn complex<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |re: Z::Part, im: Z::Part| Z::new(re, im))
}

fn real<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.re())
}

fn imag<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.im())
}

fn angle<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.im().via2(x.re(), f32::atan2, f64::atan2))
}

fn complex_abs<Z: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: Z| x.map(|z| z.norm().into()).re())
}

/// In a gradient: the complex number of two real tensors, in the type of `like`.
fn complex_of(g: &mut GradCall<'_>, re: Output, im: Output, like: Output) -> Result<Output> {
    let dtype = g.graph.dtype(like);
    g.op("Complex", [re.into(), im.into()], &[("Tout", Attr::Type(dtype))])
}

fn complex_case(r: &mut CaseGen) -> Tensor {
    let values: Vec<Complex32> =
        (0..6).map(|_| Complex32::new(r.unit() as f32 + 0.2, 1.2 - r.unit() as f32)).collect();
    Tensor::vector(&values).unwrap_or_else(|_| Tensor::scalar(Complex32::ONE))
}
