//! Integrals and inverses without an elementary form: Dawson's, the exponential, Fresnel's, Spence's, those of the normal distribution.

use super::special::of_doubles;
use crate::gradients::{slope_at_x, slope_at_y};
use crate::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use thalweg_math::special;

pub static OPS: &[&Op] = &[&DAWSN, &EXPINT, &FRESNEL_COS, &FRESNEL_SIN, &SPENCE, &ERFINV, &NDTRI];

static DAWSN: Op = Op {
    name: "Dawsn",
    doc: "Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (one, two, y) = (g.number(1.0, x)?, g.number(2.0, x)?, g.y[0]);
            let product = g.binary("Mul", x, y)?;
            let doubled = g.binary("Mul", two, product)?;
            g.binary("Sub", one, doubled)
        })
    }),
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::dawson))
};

static EXPINT: Op = Op {
    name: "Expint",
    doc: "The exponential integral Ei(x) of x that are not negative, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let exp = g.unary("Exp", x)?;
            g.binary("Div", exp, x)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::expint))
};

static FRESNEL_COS: Op = Op {
    name: "FresnelCos",
    doc: "Fresnel's cosine integral: of cos(pi t² / 2) from 0 to x, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| of_half_pi_square(g, x, "Cos"))),
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::fresnel_cos))
};

static FRESNEL_SIN: Op = Op {
    name: "FresnelSin",
    doc: "Fresnel's sine integral: of sin(pi t² / 2) from 0 to x, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| of_half_pi_square(g, x, "Sin"))),
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::fresnel_sin))
};

static SPENCE: Op = Op {
    name: "Spence",
    doc: "Spence's integral (the dilogarithm of 1 - x): of -log(t) / (t - 1) from 1 to x, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (one, log) = (g.number(1.0, x)?, g.unary("Log", x)?);
            let rest = g.binary("Sub", one, x)?;
            let (slope, at_one) = (g.binary("Div", log, rest)?, g.binary("Equal", x, one)?);
            let limit = g.number(-1.0, x)?;
            g.op("SelectV2", [at_one.into(), limit.into(), slope.into()], &[])
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::spence))
};

static ERFINV: Op = Op {
    name: "Erfinv",
    doc: "The inverse of the error function, elementwise.",
    grad: Rule(|g| slope_at_y(g, |g, y| growth(g, y, PI.sqrt() / 2.0, 1.0))),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -0.9, 0.9)])],
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::erfinv))
};

static NDTRI: Op = Op {
    name: "Ndtri",
    doc: "The inverse of the standard normal distribution function (the quantile of x), elementwise.",
    grad: Rule(|g| slope_at_y(g, |g, y| growth(g, y, TAU.sqrt(), 0.5))),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], 0.1, 0.9)])],
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::ndtri))
};

fn of_half_pi_square(g: &mut GradCall<'_>, x: Output, function: &'static str) -> Result<Output> {
    let (factor, square) = (g.number(FRAC_PI_2, x)?, g.unary("Square", x)?);
    let angle = g.binary("Mul", factor, square)?;
    g.unary(function, angle)
}

/// factor * exp(rate * y²): the inverse of a bell's height.
fn growth(g: &mut GradCall<'_>, y: Output, factor: f64, rate: f64) -> Result<Output> {
    let (factor, rate, square) = (g.number(factor, y)?, g.number(rate, y)?, g.unary("Square", y)?);
    let exponent = g.binary("Mul", rate, square)?;
    let exp = g.unary("Exp", exponent)?;
    g.binary("Mul", factor, exp)
}
