//! Incomplete gamma and beta functions, and the gradient of gamma samples.

use crate::elementwise::for_chunks_of;
use crate::gradients::{broadcast_pair, sum_to_shape_of};
use crate::prelude::*;
use thalweg_math::special;

pub static OPS: &[&Op] = &[&IGAMMA, &IGAMMAC, &IGAMMA_GRAD_A, &RANDOM_GAMMA_GRAD, &BETAINC];

static IGAMMA: Op = Op {
    name: "Igamma",
    doc: "The regularised lower incomplete gamma function P(a, x), elementwise; shapes broadcast.",
    inputs: &["a: T", "x: T"],
    attrs: UNARY_FLOAT.attrs,
    grad: Rule(|g| {
        let (da, dx) = incomplete_slopes(g)?;
        broadcast_pair(g, da, dx)
    }),
    cases: positive_pairs,
    expensive: true,
    ..binary!(BINARY, T: Float in floats => |a, x| of_two(a, x, special::igamma))
};

static IGAMMAC: Op = Op {
    name: "Igammac",
    doc: "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise; shapes broadcast.",
    grad: Rule(|g| {
        let (da, dx) = incomplete_slopes(g)?;
        let (da, dx) = (g.unary("Neg", da)?, g.unary("Neg", dx)?);
        broadcast_pair(g, da, dx)
    }),
    kernels: formula_rows!(binary; T: Float in floats => |a, x| of_two(a, x, special::igammac)),
    ..IGAMMA
};

static IGAMMA_GRAD_A: Op = Op {
    name: "IgammaGradA",
    doc: "The derivative of Igamma(a, x) by a, elementwise; shapes broadcast.",
    attrs: &["T: {float, double}"],
    grad: Missing,
    kernels: formula_rows!(binary; T: Float in single_and_double => |a, x| of_two(a, x, special::igamma_grad_a)),
    ..IGAMMA
};

static RANDOM_GAMMA_GRAD: Op = Op {
    name: "RandomGammaGrad",
    doc: "The derivative of samples of gamma distributions by their shape parameter alpha (implicit reparameterisation).",
    inputs: &["alpha: T", "sample: T"],
    outputs: &["output: T"],
    kernels: formula_rows!(binary; T: Float in single_and_double => |a, x| of_two(a, x, special::gamma_sample_grad)),
    ..IGAMMA_GRAD_A
};

fn of_two<T: Float>(a: T, x: T, f: fn(f64, f64, f64) -> f64) -> T {
    let last = if T::DTYPE == DataType::Double { special::DOUBLE } else { special::SINGLE };
    T::from_f64(f(a.to_f64(), x.to_f64(), last))
}

fn positive_pairs(r: &mut CaseGen) -> Vec<Case> {
    vec![
        Case::new(vec![r.positive(&[2, 3]), r.positive(&[2, 3])]),
        Case::new(vec![r.range(&[4, 1], 0.5, 3.0), r.range(&[3, 1, 2], 0.5, 5.0)]),
    ]
}

/// dy times the derivatives of P(a, x) by a and by x.
fn incomplete_slopes(g: &mut GradCall<'_>) -> Result<(Output, Output)> {
    let (a, x, dy) = (g.x[0], g.x[1], g.dy()?);
    let by_a = g.binary("IgammaGradA", a, x)?;
    // The density x^(a - 1) exp(-x) / gamma(a).
    let (one, log, lgamma) = (g.number(1.0, a)?, g.unary("Log", x)?, g.unary("Lgamma", a)?);
    let power = g.binary("Sub", a, one)?;
    let power = g.binary("Mul", power, log)?;
    let exponent = g.binary("Sub", power, x)?;
    let exponent = g.binary("Sub", exponent, lgamma)?;
    let by_x = g.unary("Exp", exponent)?;
    Ok((g.binary("Mul", dy, by_a)?, g.binary("Mul", dy, by_x)?))
}

static BETAINC: Op = Op {
    name: "Betainc",
    doc: "The regularised incomplete beta function of a, b and x, elementwise; each has the same shape or is a scalar.",
    inputs: &["a: T", "b: T", "x: T"],
    outputs: &["z: T"],
    attrs: &["T: {float, double}"],
    shape: betainc_shape,
    grad: Rule(betainc_grad),
    kernels: cpu!(betainc: T in f32, f64),
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 3]), r.positive(&[2, 3]), r.range(&[2, 3], 0.1, 0.9)])
                .without_difference(&[0, 1]),
            Case::new(vec![r.positive(&[]), r.positive(&[4]), r.range(&[], 0.1, 0.9)])
                .without_difference(&[0, 1]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn betainc_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let mut shape: Option<PartialShape> = None;
    for i in 0..3 {
        let input = c.input(i);
        match (input.rank(), &shape) {
            (None, _) => return Ok(vec![PartialShape::unknown()]),
            (Some(0), _) => {}
            (_, None) => shape = Some(input),
            (_, Some(known)) => shape = Some(known.merge(&input)?),
        }
    }
    Ok(vec![shape.unwrap_or_else(PartialShape::scalar)])
}

fn betainc<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let mut shape = Shape::scalar();
    for (i, name) in ["a", "b", "x"].into_iter().enumerate() {
        let s = c.shape(i)?;
        if s.is_scalar() || *s == shape {
            continue;
        }
        if !shape.is_scalar() {
            return Err(invalid!(
                "Shapes of the inputs of Betainc are inconsistent: {shape} vs. {s} of {name}"
            ));
        }
        shape = s.clone();
    }
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let inputs = [c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?];
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 1, 256, &|range, out| {
        for (i, out) in range.zip(out) {
            let [a, b, x] = inputs.map(|v| if v.len() == 1 { v[0] } else { v[i] }.to_f64());
            *out = T::from_f64(special::betainc(a, b, x));
        }
    });
    c.set(0, out);
    Ok(())
}

/// By x alone, as in TensorFlow: the density x^(a - 1) (1 - x)^(b - 1) / B(a, b).
fn betainc_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, b, x, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
    let (one, sum) = (g.number(1.0, a)?, g.binary("AddV2", a, b)?);
    let (of_a, of_b, of_sum) = (g.unary("Lgamma", a)?, g.unary("Lgamma", b)?, g.unary("Lgamma", sum)?);
    let log_beta = g.binary("AddV2", of_a, of_b)?;
    let log_beta = g.binary("Sub", log_beta, of_sum)?;
    let (a1, b1, minus) = (g.binary("Sub", a, one)?, g.binary("Sub", b, one)?, g.unary("Neg", x)?);
    let rest = g.unary("Log1p", minus)?;
    let (left, right) = (g.binary("Xlogy", a1, x)?, g.binary("Mul", b1, rest)?);
    let exponent = g.binary("AddV2", left, right)?;
    let exponent = g.binary("Sub", exponent, log_beta)?;
    let density = g.unary("Exp", exponent)?;
    let dx = g.binary("Mul", dy, density)?;
    let y = g.y[0];
    Ok(vec![Grad::None, Grad::None, sum_to_shape_of(g, dx, x, y)?.into()])
}
