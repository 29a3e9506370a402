//! `NextAfter`: the neighbours of floating-point numbers.

use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&NEXT_AFTER];

static NEXT_AFTER: Op = Op {
    name: "NextAfter",
    doc: "The number that follows x1 in the direction of x2, elementwise; shapes broadcast.",
    inputs: &["x1: T", "x2: T"],
    outputs: &["output: T"],
    attrs: &["T: {double, float} = DT_FLOAT"],
    grad: Rule(|g| {
        let (dy, x2) = (g.dy()?, g.x[1]);
        let zeros = g.unary("ZerosLike", dy)?;
        let mut grads = broadcast_pair(g, dy, zeros)?;
        grads[1] = g.unary("ZerosLike", x2)?.into();
        Ok(grads)
    }),
    ..binary!(BINARY, T: Float in single_and_double => |a, b| a.via2(b, libm::nextafterf, libm::nextafter))
};
