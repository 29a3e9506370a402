//! Special functions: error function, gamma and zeta.

use crate::gradients::{slope_at_x, sum_to_shape_of};
use crate::prelude::*;
use thalweg_math::{elementary, special};

pub static OPS: &[&Op] = &[&ERF, &ERFC, &LGAMMA, &DIGAMMA, &POLYGAMMA, &ZETA];

static ERF: Op = Op {
    name: "Erf",
    doc: "The Gauss error function of x, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| scaled_bell(g, x, std::f64::consts::FRAC_2_SQRT_PI))),
    ..unary!(UNARY_FLOAT, fused, f32 by elementary::erf,
             T: Float in floats_but_f32 => |x| x.via(libm::erff, libm::erf))
};

static ERFC: Op = Op {
    name: "Erfc",
    doc: "1 - erf(x), elementwise, exact for large x.",
    grad: Rule(|g| slope_at_x(g, |g, x| scaled_bell(g, x, -std::f64::consts::FRAC_2_SQRT_PI))),
    ..unary!(UNARY_FLOAT, fused, f32 by elementary::erfc,
             T: Float in floats_but_f32 => |x| x.via(libm::erfcf, libm::erfc))
};

static LGAMMA: Op = Op {
    name: "Lgamma",
    doc: "log(|gamma(x)|), elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Digamma", x))),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| x.via(libm::lgammaf, libm::lgamma))
};

static DIGAMMA: Op = Op {
    name: "Digamma",
    doc: "psi(x), the derivative of lgamma, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let one = g.number(1.0, x)?;
            g.binary("Polygamma", one, x)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT,
             T: Float in floats => |x| x.via(|x| special::digamma(x as f64) as f32, special::digamma))
};

static POLYGAMMA: Op = Op {
    name: "Polygamma",
    doc: "The derivative of order a of digamma at x, elementwise; shapes broadcast.",
    inputs: &["a: T", "x: T"],
    attrs: &["T: {float, double}"],
    grad: Rule(|g| {
        let (a, x, dz) = (g.x[0], g.x[1], g.dy()?);
        let one = g.number(1.0, a)?;
        let next = g.binary("AddV2", a, one)?;
        let slope = g.binary("Polygamma", next, x)?;
        let dx = g.binary("Mul", dz, slope)?;
        Ok(vec![Grad::None, sum_to_shape_of(g, dx, x, a)?.into()])
    }),
    cases: |r| {
        let order = Tensor::scalar(1f32);
        vec![Case::new(vec![order, r.positive(&[2, 3])]).without_difference(&[0])]
    },
    ..binary!(BINARY, T: Float in single_and_double => |a, x| T::from_f64(special::polygamma(a.to_f64(), x.to_f64())))
};

static ZETA: Op = Op {
    name: "Zeta",
    doc: "The sum of (q + k)^-x over all k from 0, elementwise; shapes broadcast.",
    inputs: &["x: T", "q: T"],
    attrs: POLYGAMMA.attrs,
    grad: Rule(|g| {
        let (x, q, dz) = (g.x[0], g.x[1], g.dy()?);
        let one = g.number(1.0, x)?;
        let next = g.binary("AddV2", x, one)?;
        let sum = g.binary("Zeta", next, q)?;
        let minus = g.unary("Neg", x)?;
        let slope = g.binary("Mul", minus, sum)?;
        let dq = g.binary("Mul", slope, dz)?;
        Ok(vec![Grad::None, sum_to_shape_of(g, dq, q, x)?.into()])
    }),
    cases: |r| vec![Case::new(vec![r.range(&[], 1.5, 3.0), r.positive(&[2, 3])]).without_difference(&[0])],
    ..binary!(BINARY, T: Float in single_and_double => |x, q| T::from_f64(special::zeta(x.to_f64(), q.to_f64())))
};

/// factor * exp(-x²).
fn scaled_bell(g: &mut GradCall<'_>, x: Output, factor: f64) -> Result<Output> {
    let square = g.unary("Square", x)?;
    let minus = g.unary("Neg", square)?;
    let bell = g.unary("Exp", minus)?;
    let factor = g.number(factor, x)?;
    g.binary("Mul", factor, bell)
}

/// `f`, computed in double precision and rounded to the type.
pub fn of_doubles<T: Float>(x: T, f: fn(f64) -> f64) -> T {
    T::from_f64(f(x.to_f64()))
}
