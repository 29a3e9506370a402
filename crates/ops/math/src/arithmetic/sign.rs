//! Signs: negation, absolute value, sign.

use crate::gradients::times_dy;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&NEG, &ABS, &SIGN];

static NEG: Op = Op {
    name: "Neg",
    doc: "-x, elementwise.",
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("Neg", dy)?.into()])
    }),
    ..unary!(UNARY_SIGNED, fused, T: Number in floats, signed_integers, complexes => |x| x.neg())
};

static ABS: Op = Op {
    name: "Abs",
    doc: "The absolute value of x, elementwise.",
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64}"],
    grad: Rule(|g| {
        let x = g.x[0];
        let sign = g.unary("Sign", x)?;
        times_dy(g, sign)
    }),
    ..unary!(UNARY, fused, T: Real in floats, signed_integers => |x| x.absolute())
};

static SIGN: Op = Op {
    name: "Sign",
    doc: "The sign of x, elementwise: -1, 0 or 1; x / |x| for complex x.",
    grad: Rule(|g| {
        let x = g.x[0];
        Ok(vec![g.unary("ZerosLike", x)?.into()])
    }),
    ..unary!(UNARY_SIGNED, T: Real in floats, signed_integers => |x| sign(x);
             T: ComplexNumber in complexes => |z| z.map(|z| if z.norm() == 0.0 { z } else { z / z.norm() }))
};

#[inline]
fn sign<T: Real>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x < T::ZERO {
        T::ONE.neg()
    } else if x.is_nan() {
        x
    } else {
        T::ZERO
    }
}
