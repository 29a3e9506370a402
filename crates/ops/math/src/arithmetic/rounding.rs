//! Rounding to integers.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&CEIL, &FLOOR, &RINT, &ROUND];

static CEIL: Op = Op {
    name: "Ceil",
    doc: "The smallest integer not below x, elementwise.",
    ..unary!(ROUNDING, fused, T: Float in floats => |x| x.via(f32::ceil, f64::ceil))
};

static FLOOR: Op = Op {
    name: "Floor",
    doc: "The largest integer not above x, elementwise.",
    ..unary!(ROUNDING, fused, T: Float in floats => |x| x.via(f32::floor, f64::floor))
};

static RINT: Op = Op {
    name: "Rint",
    doc: "The integer nearest to x, elementwise; halves go to the even one.",
    ..unary!(ROUNDING, T: Float in floats => |x| x.via(f32::round_ties_even, f64::round_ties_even))
};

static ROUND: Op = Op {
    name: "Round",
    doc: RINT.doc,
    attrs: UNARY_SIGNED.attrs,
    ..unary!(ROUNDING, T: Float in floats => |x| x.via(f32::round_ties_even, f64::round_ties_even);
             T: Number in signed_integers by unchanged => |x| x)
};

/// Integers are rounded already: forwards the input.
fn unchanged<T: Number>(c: &mut OpCall<'_>, _: impl Fn(T) -> T) -> Result<()> {
    let x = c.take(0)?;
    debug_assert_eq!(x.dtype(), T::DTYPE);
    c.set(0, x);
    Ok(())
}
