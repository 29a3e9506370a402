//! Exponentials and logarithms, and the logistic function.

use crate::gradients::{broadcast_pair, conj_x, conj_y, one_where_not_zero, slope_at_x, slope_at_y};
use crate::prelude::*;
use thalweg_math::elementary;

pub static OPS: &[&Op] = &[&EXP, &EXPM1, &LOG, &LOG1P, &XLOGY, &XLOG1PY, &SIGMOID, &SIGMOID_GRAD];

static EXP: Op = Op {
    name: "Exp",
    doc: "e to the power x, elementwise.",
    grad: Rule(|g| slope_at_y(g, |_, y| Ok(y))),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::exp,
             T: Float in floats_but_f32 => |x| x.via(f32::exp, f64::exp);
             T: ComplexNumber in complexes => |z| z.map(|z| z.exp()))
};

/// Exact near 0, where `Exp` less 1 is not.
static EXPM1: Op = Op {
    name: "Expm1",
    doc: "exp(x) - 1, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Exp", x))),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::exp_m1,
             T: Float in floats_but_f32 => |x| x.via(f32::exp_m1, f64::exp_m1);
             T: ComplexNumber in complexes => |z| z.map(|z| z.exp() - 1.0))
};

static LOG: Op = Op {
    name: "Log",
    doc: "The natural logarithm of x, elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Reciprocal", x))),
    cases: positive_case,
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::log,
             T: Float in floats_but_f32 => |x| x.via(f32::ln, f64::ln);
             T: ComplexNumber in complexes => |z| z.map(|z| z.ln()))
};

/// Exact near 0.
static LOG1P: Op = Op {
    name: "Log1p",
    doc: "log(1 + x), elementwise.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let one = g.number(1.0, x)?;
            let sum = g.binary("Add", one, x)?;
            g.unary("Reciprocal", sum)
        })
    }),
    cases: positive_case,
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::ln_1p,
             T: Float in floats_but_f32 => |x| x.via(f32::ln_1p, f64::ln_1p);
             T: ComplexNumber in complexes => |z| z.map(|z| (z + 1.0).ln()))
};

static XLOGY: Op = Op {
    name: "Xlogy",
    doc: "x * log(y), elementwise, but 0 where x is 0, even if y is 0; shapes broadcast.",
    grad: Rule(|g| {
        let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let present = one_where_not_zero(g, x)?;
        let slope_x = g.binary("Xlogy", present, y)?;
        let slope_y = g.binary("Xdivy", x, y)?;
        let (dx, dy) = (g.binary("Mul", slope_x, dz)?, g.binary("Mul", slope_y, dz)?);
        broadcast_pair(g, dx, dy)
    }),
    ..binary!(ZERO_AT_ZERO, f32 by elementary::xlogy,
              T: Float in floats_but_f32 => |x, y| if x == T::ZERO { x } else { x.mul(y.via(f32::ln, f64::ln)) };
              T: ComplexNumber in complexes => |x, y| if x == T::ZERO { x } else { x.mul(y.map(|z| z.ln())) })
};

static XLOG1PY: Op = Op {
    name: "Xlog1py",
    doc: "x * log(1 + y), elementwise, but 0 where x is 0, even if y is -1; shapes broadcast.",
    grad: Rule(|g| {
        let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let present = one_where_not_zero(g, x)?;
        let slope_x = g.binary("Xlog1py", present, y)?;
        let one = g.number(1.0, y)?;
        let sum = g.binary("Add", y, one)?;
        let slope_y = g.binary("Xdivy", x, sum)?;
        let (dx, dy) = (g.binary("Mul", slope_x, dz)?, g.binary("Mul", slope_y, dz)?);
        broadcast_pair(g, dx, dy)
    }),
    ..binary!(ZERO_AT_ZERO, f32 by elementary::xlog1py,
              T: Float in floats_but_f32 => |x, y| if x == T::ZERO { x } else { x.mul(y.via(f32::ln_1p, f64::ln_1p)) };
              T: ComplexNumber in complexes => |x, y| if x == T::ZERO { x } else { x.mul(y.map(|z| (z + 1.0).ln())) })
};

pub static SIGMOID: Op = Op {
    name: "Sigmoid",
    doc: "1 / (1 + exp(-x)), elementwise.",
    grad: Rule(|g| {
        let (y, dy) = (conj_y(g, 0)?, g.dy()?);
        Ok(vec![g.binary("SigmoidGrad", y, dy)?.into()])
    }),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::sigmoid,
             T: Float in floats_but_f32 => |x| x.via(|x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp()));
             T: ComplexNumber in complexes => |z| z.map(|z| 1.0 / (1.0 + (-z).exp())))
};

static SIGMOID_GRAD: Op = Op {
    name: "SigmoidGrad",
    doc: "dy * y * (1 - y), where y = sigmoid(x).",
    grad: Rule(|g| {
        let (a, b, d) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let db = g.binary("Mul", d, b)?;
        let two = g.number(2.0, db)?;
        let twice = g.binary("Mul", two, db)?;
        let with_a = g.binary("Mul", twice, a)?;
        Ok(vec![g.binary("Sub", db, with_a)?.into(), g.binary("SigmoidGrad", a, d)?.into()])
    }),
    ..binary_alike!(UNARY_GRAD, T: Number in floats, complexes => |y, dy| dy.mul(y.mul(T::ONE.sub(y))))
};
