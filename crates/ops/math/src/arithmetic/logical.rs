//! Logical and, or, not.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&LOGICAL_AND, &LOGICAL_OR, &LOGICAL_NOT];

static LOGICAL_AND: Op = Op {
    name: "LogicalAnd",
    doc: "Whether both x and y are true, elementwise; shapes broadcast.",
    inputs: &["x: bool", "y: bool"],
    outputs: &["z: bool"],
    shape: broadcast,
    grad: Stops,
    kernels: cpu!(and),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[2, 3]), r.bools(&[2, 3])]),
            Case::new(vec![r.bools(&[4, 1]), r.bools(&[3])]),
        ]
    },
    commutative: true,
    ..Op::PURE
};

static LOGICAL_OR: Op = Op {
    name: "LogicalOr",
    doc: "Whether x or y or both are true, elementwise; shapes broadcast.",
    kernels: cpu!(or),
    ..LOGICAL_AND
};

static LOGICAL_NOT: Op = Op {
    name: "LogicalNot",
    doc: "Whether x is false, elementwise.",
    inputs: &["x: bool"],
    outputs: &["y: bool"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(not),
    cases: |r| vec![Case::new(vec![r.bools(&[2, 3])])],
    ..Op::PURE
};

fn and(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: bool, y: bool| x & y)
}

fn or(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: bool, y: bool| x | y)
}

fn not(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: bool| !x)
}
