//! Products.

use crate::gradients::{broadcast_pair, conj_x};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&MUL, &MUL_NO_NAN];

static MUL: Op = Op {
    name: "Mul",
    doc: "x * y, elementwise; shapes broadcast.",
    attrs: QUOTIENT.attrs,
    grad: Rule(|g| {
        let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let (dx, dy) = (g.binary("Mul", dz, y)?, g.binary("Mul", x, dz)?);
        broadcast_pair(g, dx, dy)
    }),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 1, 3]), r.tensor(&[4, 1])]),
        ]
    },
    commutative: true,
    ..binary!(BINARY, fused, T: Number in floats, integers, complexes => |x, y| x.mul(y))
};

static MUL_NO_NAN: Op = Op {
    name: "MulNoNan",
    doc: "x * y, elementwise, but 0 where y is 0, whatever x is; shapes broadcast.",
    attrs: UNARY_COMPLEX.attrs,
    grad: Rule(|g| {
        let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let (dx, dy) = (g.binary("MulNoNan", dz, y)?, g.binary("MulNoNan", x, dz)?);
        broadcast_pair(g, dx, dy)
    }),
    ..binary!(BINARY, T: Number in floats, complexes => |x, y| if y == T::ZERO { T::ZERO } else { x.mul(y) })
};
