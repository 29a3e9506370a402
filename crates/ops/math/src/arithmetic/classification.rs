//! Kinds of floats: finite, infinite, NaN.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&IS_FINITE, &IS_INF, &IS_NAN];

static IS_FINITE: Op = Op {
    name: "IsFinite",
    doc: "Whether x is neither infinite nor NaN, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x.to_f64().is_finite())
};

static IS_INF: Op = Op {
    name: "IsInf",
    doc: "Whether x is plus or minus infinity, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x.to_f64().is_infinite())
};

static IS_NAN: Op = Op {
    name: "IsNan",
    doc: "Whether x is NaN, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x.is_nan())
};
