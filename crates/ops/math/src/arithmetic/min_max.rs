//! The smaller and the larger of two numbers.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&MAXIMUM, &MINIMUM];

static MAXIMUM: Op = Op {
    name: "Maximum",
    doc: "The larger of x and y, elementwise; NaN if either is; shapes broadcast.",
    attrs: &["T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}"],
    grad: Rule(|g| grad_where(g, "GreaterEqual")),
    ..binary!(BINARY, fused, T: Real in floats, integers => |x, y| x.larger(y))
};

static MINIMUM: Op = Op {
    name: "Minimum",
    doc: "The smaller of x and y, elementwise; NaN if either is; shapes broadcast.",
    attrs: MAXIMUM.attrs,
    grad: Rule(|g| grad_where(g, "LessEqual")),
    ..binary!(BINARY, fused, T: Real in floats, integers => |x, y| x.smaller(y))
};

/// The gradient flows to x where the comparison of x and y is true, else to y.
fn grad_where(g: &mut GradCall<'_>, comparison: &'static str) -> Result<Vec<Grad>> {
    let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
    let is_x = g.binary(comparison, x, y)?;
    let zero = g.number(0.0, dz)?;
    let dx = g.op("SelectV2", [is_x.into(), dz.into(), zero.into()], &[])?;
    let dy = g.op("SelectV2", [is_x.into(), zero.into(), dz.into()], &[])?;
    broadcast_pair(g, dx, dy)
}
