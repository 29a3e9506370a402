//! Kinds of floats: finite, infinite, NaN.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&IS_FINITE, &IS_INF, &IS_NAN];

static IS_FINITE: Op = Op {
    name: "IsFinite",
    doc: "Whether x is neither infinite nor NaN, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x.sub(x) == T::ZERO)
};

static IS_INF: Op = Op {
    name: "IsInf",
    doc: "Whether x is plus or minus infinity, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x == T::lowest() || x == T::highest())
};

static IS_NAN: Op = Op {
    name: "IsNan",
    doc: "Whether x is NaN, elementwise.",
    ..unary!(PREDICATE, T: Float in floats => |x| x.is_nan())
};
