//! Bessel functions of order 0 and 1, and their exponentially scaled forms. All are computed in double precision.

use super::special::of_doubles;
use crate::gradients::{slope_at_x, times_dy};
use crate::prelude::*;
use thalweg_math::special;

pub static OPS: &[&Op] = &[
    &BESSEL_I0,
    &BESSEL_I1,
    &BESSEL_I0E,
    &BESSEL_I1E,
    &BESSEL_K0,
    &BESSEL_K1,
    &BESSEL_K0E,
    &BESSEL_K1E,
    &BESSEL_J0,
    &BESSEL_J1,
    &BESSEL_Y0,
    &BESSEL_Y1,
];

static BESSEL_I0: Op = Op {
    name: "BesselI0",
    doc: "The modified Bessel function of the first kind of order 0, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("BesselI1", x))),
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::i0, T: Float in floats_but_f32 => |x| of_doubles(x, special::i0))
};

static BESSEL_I1: Op = Op {
    name: "BesselI1",
    doc: "The modified Bessel function of the first kind of order 1, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let slope = less_y_by_x(g, x, "BesselI0")?;
            half_at_zero(g, x, slope)
        })
    }),
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::i1, T: Float in floats_but_f32 => |x| of_doubles(x, special::i1))
};

static BESSEL_I0E: Op = Op {
    name: "BesselI0e",
    doc: "exp(-|x|) times the modified Bessel function of the first kind of order 0, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (sign, next, y) = (g.unary("Sign", x)?, g.unary("BesselI1e", x)?, g.y[0]);
            let scaling = g.binary("Mul", sign, y)?;
            g.binary("Sub", next, scaling)
        })
    }),
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::i0e, T: Float in floats_but_f32 => |x| of_doubles(x, special::i0e))
};

static BESSEL_I1E: Op = Op {
    name: "BesselI1e",
    doc: "exp(-|x|) times the modified Bessel function of the first kind of order 1, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (sign, inverse, y) = (g.unary("Sign", x)?, g.unary("Reciprocal", x)?, g.y[0]);
            let factor = g.binary("AddV2", sign, inverse)?;
            let (before, scaled) = (g.unary("BesselI0e", x)?, g.binary("Mul", y, factor)?);
            let slope = g.binary("Sub", before, scaled)?;
            half_at_zero(g, x, slope)
        })
    }),
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::i1e, T: Float in floats_but_f32 => |x| of_doubles(x, special::i1e))
};

static BESSEL_K0: Op = Op {
    name: "BesselK0",
    doc: "The modified Bessel function of the second kind of order 0, elementwise.",
    grad: Rule(|g| minus_next(g, "BesselK1")),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::k0, T: Float in floats_but_f32 => |x| of_doubles(x, special::k0))
};

static BESSEL_K1: Op = Op {
    name: "BesselK1",
    doc: "The modified Bessel function of the second kind of order 1, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (before, y) = (g.unary("BesselK0", x)?, g.y[0]);
            let (minus, quotient) = (g.unary("Neg", before)?, g.binary("Div", y, x)?);
            g.binary("Sub", minus, quotient)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::k1, T: Float in floats_but_f32 => |x| of_doubles(x, special::k1))
};

static BESSEL_K0E: Op = Op {
    name: "BesselK0e",
    doc: "exp(x) times the modified Bessel function of the second kind of order 0, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (next, y) = (g.unary("BesselK1e", x)?, g.y[0]);
            g.binary("Sub", y, next)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::k0e, T: Float in floats_but_f32 => |x| of_doubles(x, special::k0e))
};

static BESSEL_K1E: Op = Op {
    name: "BesselK1e",
    doc: "exp(x) times the modified Bessel function of the second kind of order 1, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (one, inverse, y) = (g.number(1.0, x)?, g.unary("Reciprocal", x)?, g.y[0]);
            let factor = g.binary("Sub", one, inverse)?;
            let (scaled, before) = (g.binary("Mul", y, factor)?, g.unary("BesselK0e", x)?);
            g.binary("Sub", scaled, before)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, fused, f32 by special::slices::k1e, T: Float in floats_but_f32 => |x| of_doubles(x, special::k1e))
};

static BESSEL_J0: Op = Op {
    name: "BesselJ0",
    doc: "The Bessel function of the first kind of order 0, elementwise.",
    grad: Rule(|g| minus_next(g, "BesselJ1")),
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::j0))
};

static BESSEL_J1: Op = Op {
    name: "BesselJ1",
    doc: "The Bessel function of the first kind of order 1, elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let slope = less_y_by_x(g, x, "BesselJ0")?;
            half_at_zero(g, x, slope)
        })
    }),
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::j1))
};

static BESSEL_Y0: Op = Op {
    name: "BesselY0",
    doc: "The Bessel function of the second kind of order 0, elementwise.",
    grad: Rule(|g| minus_next(g, "BesselY1")),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::y0))
};

static BESSEL_Y1: Op = Op {
    name: "BesselY1",
    doc: "The Bessel function of the second kind of order 1, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| less_y_by_x(g, x, "BesselY0"))),
    cases: positive_case,
    ..unary!(UNARY_FLOAT, T: Float in floats => |x| of_doubles(x, special::y1))
};

/// The gradient of functions of order 0 whose derivative is minus that of order 1.
fn minus_next(g: &mut GradCall<'_>, next: &'static str) -> Result<Vec<Grad>> {
    let x = g.x[0];
    let next = g.unary(next, x)?;
    let slope = g.unary("Neg", next)?;
    times_dy(g, slope)
}

/// The function of order 0 less y / x.
fn less_y_by_x(g: &mut GradCall<'_>, x: Output, before: &'static str) -> Result<Output> {
    let (before, y) = (g.unary(before, x)?, g.y[0]);
    let quotient = g.binary("Div", y, x)?;
    g.binary("Sub", before, quotient)
}

/// The slope, and 1/2, its limit, where x is 0.
fn half_at_zero(g: &mut GradCall<'_>, x: Output, slope: Output) -> Result<Output> {
    let (zero, half) = (g.number(0.0, x)?, g.number(0.5, x)?);
    let at_zero = g.binary("Equal", x, zero)?;
    g.op("SelectV2", [at_zero.into(), half.into(), slope.into()], &[])
}
