//! Ops on the bits of integers.

use crate::prelude::*;

pub static OPS: &[&Op] =
    &[&BITWISE_AND, &BITWISE_OR, &BITWISE_XOR, &INVERT, &LEFT_SHIFT, &RIGHT_SHIFT, &POPULATION_COUNT];

static BITWISE_AND: Op = Op {
    name: "BitwiseAnd",
    doc: "The bitwise and of x and y, elementwise; shapes broadcast.",
    commutative: true,
    ..binary!(BITWISE, T: Integer in integers => |x, y| x & y)
};

static BITWISE_OR: Op = Op {
    name: "BitwiseOr",
    doc: "The bitwise or of x and y, elementwise; shapes broadcast.",
    commutative: true,
    ..binary!(BITWISE, T: Integer in integers => |x, y| x | y)
};

static BITWISE_XOR: Op = Op {
    name: "BitwiseXor",
    doc: "The bitwise exclusive or of x and y, elementwise; shapes broadcast.",
    commutative: true,
    ..binary!(BITWISE, T: Integer in integers => |x, y| x ^ y)
};

static INVERT: Op = Op {
    name: "Invert",
    doc: "x with every bit flipped, elementwise.",
    ..unary!(UNARY_BITWISE, T: Integer in integers => |x| !x)
};

static LEFT_SHIFT: Op = Op {
    name: "LeftShift",
    doc: "x shifted left by y bits, elementwise; shapes broadcast.",
    ..binary!(BITWISE, T: Integer in integers => |x, y| x.shifted_left(y))
};

static RIGHT_SHIFT: Op = Op {
    name: "RightShift",
    doc: "x shifted right by y bits (arithmetic shift if signed), elementwise; shapes broadcast.",
    ..binary!(BITWISE, T: Integer in integers => |x, y| x.shifted_right(y))
};

static POPULATION_COUNT: Op = Op {
    name: "PopulationCount",
    doc: "The number of bits of x that are set, elementwise.",
    outputs: &["y: uint8"],
    ..unary!(UNARY_BITWISE, T: Integer in integers => |x| x.bits_set() as u8)
};
