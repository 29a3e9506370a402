//! Rounding to integers.

use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] = &[&CEIL, &FLOOR, &RINT, &ROUND];

static CEIL: Op = Op {
    name: "Ceil",
    doc: "The smallest integer not below x, elementwise.",
    ..unary!(ROUNDING, fused, T: Float in floats => |x| x.via(f32::up, f64::up))
};

static FLOOR: Op = Op {
    name: "Floor",
    doc: "The largest integer not above x, elementwise.",
    ..unary!(ROUNDING, fused, T: Float in floats => |x| x.via(f32::down, f64::down))
};

static RINT: Op = Op {
    name: "Rint",
    doc: "The integer nearest to x, elementwise; halves go to the even one.",
    ..unary!(ROUNDING, T: Float in floats => |x| x.via(f32::nearest, f64::nearest))
};

static ROUND: Op = Op {
    name: "Round",
    doc: RINT.doc,
    attrs: UNARY_SIGNED.attrs,
    ..unary!(ROUNDING, T: Float in floats => |x| x.via(f32::nearest, f64::nearest);
             T: Number in signed_integers by unchanged => |x| x)
};

/// Integers are rounded already: forwards the input.
fn unchanged<T: Number>(c: &mut OpCall<'_>, _: impl Fn(T) -> T) -> Result<()> {
    let x = c.take(0)?;
    debug_assert_eq!(x.dtype(), T::DTYPE);
    c.set(0, x);
    Ok(())
}
