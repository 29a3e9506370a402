//! Elementwise arithmetic.

mod abs;
mod acos;
mod acosh;
mod add;
mod add_n;
mod add_v2;
mod angle;
mod approximate_equal;
mod asin;
mod asinh;
mod atan;
mod atan2;
mod atanh;
mod bitwise_and;
mod bitwise_or;
mod bitwise_xor;
mod bucketize;
mod cast;
mod ceil;
mod choose;
mod clip_by_value;
mod complex;
mod complex_abs;
mod conj;
pub mod convert;
mod cos;
mod cosh;
mod digamma;
mod div;
mod div_no_nan;
mod equal;
mod erf;
mod erfc;
mod exp;
mod expm1;
mod floor;
mod floor_div;
mod floor_mod;
mod greater;
mod greater_equal;
mod imag;
mod invert;
mod is_finite;
mod is_inf;
mod is_nan;
mod left_shift;
mod less;
mod less_equal;
mod lgamma;
mod lin_space;
mod log;
mod log1p;
mod logical;
mod maximum;
mod minimum;
mod mul;
mod mul_no_nan;
mod neg;
mod ones_like;
mod polygamma;
mod population_count;
mod pow;
mod range;
mod real;
mod real_div;
mod reciprocal;
mod reciprocal_grad;
mod right_shift;
mod rint;
mod round;
mod rsqrt;
mod rsqrt_grad;
mod select;
mod sigmoid;
mod sigmoid_grad;
mod sign;
mod sin;
mod sinh;
mod sqrt;
mod sqrt_grad;
mod square;
mod squared_difference;
mod sub;
mod tan;
mod tanh;
mod tanh_grad;
mod truncate_div;
mod truncate_mod;
mod xdivy;
mod xlog1py;
mod xlogy;
mod zeros_like;

pub use add_n::ADD_N;
pub use add_v2::ADD_V2;
pub use sigmoid::SIGMOID;
pub use tanh::TANH;

use crate::broadcast::broadcast_shape;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &abs::ABS,
    &acos::ACOS,
    &acosh::ACOSH,
    &add::ADD,
    &add_n::ADD_N,
    &add_n::ACCUMULATE_NV2,
    &add_v2::ADD_V2,
    &angle::ANGLE,
    &approximate_equal::APPROXIMATE_EQUAL,
    &asin::ASIN,
    &asinh::ASINH,
    &atan::ATAN,
    &atan2::ATAN2,
    &atanh::ATANH,
    &bitwise_and::BITWISE_AND,
    &bitwise_or::BITWISE_OR,
    &bitwise_xor::BITWISE_XOR,
    &bucketize::BUCKETIZE,
    &cast::CAST,
    &ceil::CEIL,
    &clip_by_value::CLIP_BY_VALUE,
    &complex::COMPLEX,
    &complex_abs::COMPLEX_ABS,
    &conj::CONJ,
    &cos::COS,
    &cosh::COSH,
    &digamma::DIGAMMA,
    &div::DIV,
    &div_no_nan::DIV_NO_NAN,
    &equal::EQUAL,
    &equal::NOT_EQUAL,
    &erf::ERF,
    &erfc::ERFC,
    &exp::EXP,
    &expm1::EXPM1,
    &floor::FLOOR,
    &floor_div::FLOOR_DIV,
    &floor_mod::FLOOR_MOD,
    &greater::GREATER,
    &greater_equal::GREATER_EQUAL,
    &imag::IMAG,
    &invert::INVERT,
    &is_finite::IS_FINITE,
    &is_inf::IS_INF,
    &is_nan::IS_NAN,
    &left_shift::LEFT_SHIFT,
    &less::LESS,
    &less_equal::LESS_EQUAL,
    &lgamma::LGAMMA,
    &lin_space::LIN_SPACE,
    &log::LOG,
    &log1p::LOG1P,
    &logical::LOGICAL_AND,
    &logical::LOGICAL_OR,
    &logical::LOGICAL_NOT,
    &maximum::MAXIMUM,
    &minimum::MINIMUM,
    &mul::MUL,
    &mul_no_nan::MUL_NO_NAN,
    &neg::NEG,
    &ones_like::ONES_LIKE,
    &polygamma::POLYGAMMA,
    &polygamma::ZETA,
    &population_count::POPULATION_COUNT,
    &pow::POW,
    &range::RANGE,
    &real::REAL,
    &real_div::REAL_DIV,
    &reciprocal::RECIPROCAL,
    &reciprocal::INV,
    &reciprocal_grad::RECIPROCAL_GRAD,
    &reciprocal_grad::INV_GRAD,
    &right_shift::RIGHT_SHIFT,
    &rint::RINT,
    &round::ROUND,
    &rsqrt::RSQRT,
    &rsqrt_grad::RSQRT_GRAD,
    &select::SELECT_V2,
    &select::SELECT,
    &sigmoid::SIGMOID,
    &sigmoid_grad::SIGMOID_GRAD,
    &sign::SIGN,
    &sin::SIN,
    &sinh::SINH,
    &sqrt::SQRT,
    &sqrt_grad::SQRT_GRAD,
    &square::SQUARE,
    &squared_difference::SQUARED_DIFFERENCE,
    &sub::SUB,
    &tan::TAN,
    &tanh::TANH,
    &tanh_grad::TANH_GRAD,
    &truncate_div::TRUNCATE_DIV,
    &truncate_mod::TRUNCATE_MOD,
    &truncate_mod::MOD,
    &xdivy::XDIVY,
    &xlog1py::XLOG1PY,
    &xlogy::XLOGY,
    &zeros_like::ZEROS_LIKE,
];

/// Refuses a zero in the divisor (input 1), if any element of the result would need it.
fn no_zero_divisor<T: Number>(c: &OpCall<'_>) -> Result<()> {
    let any = broadcast_shape(c.shape(0)?, c.shape(1)?)?.elements() > 0;
    if any && c.slice::<T>(1)?.contains(&T::ZERO) {
        return Err(invalid!("Integer division by zero"));
    }
    Ok(())
}
