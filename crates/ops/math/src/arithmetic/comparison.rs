//! Comparisons of numbers by size.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&LESS, &LESS_EQUAL, &GREATER, &GREATER_EQUAL, &APPROXIMATE_EQUAL];

static LESS: Op = Op {
    name: "Less",
    doc: "Whether x < y, elementwise; shapes broadcast.",
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[3])])],
    ..binary!(COMPARISON, T: Real in floats, integers => |x, y| x < y)
};

static LESS_EQUAL: Op = Op {
    name: "LessEqual",
    doc: "Whether x <= y, elementwise; shapes broadcast.",
    ..binary!(COMPARISON, T: Real in floats, integers => |x, y| x <= y)
};

static GREATER: Op = Op {
    name: "Greater",
    doc: "Whether x > y, elementwise; shapes broadcast.",
    ..binary!(COMPARISON, T: Real in floats, integers => |x, y| x > y)
};

static GREATER_EQUAL: Op = Op {
    name: "GreaterEqual",
    doc: "Whether x >= y, elementwise; shapes broadcast.",
    ..binary!(COMPARISON, T: Real in floats, integers => |x, y| x >= y)
};

static APPROXIMATE_EQUAL: Op = Op {
    name: "ApproximateEqual",
    doc: "Whether |x - y| < tolerance, elementwise.",
    attrs: &["T: numbertype", "tolerance: float = 0.00001"],
    shape: shape_call::all_inputs_alike,
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]).attr("tolerance", 0.5f32)],
    commutative: true,
    ..COMPARISON
};

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let tolerance = T::from_f64(node.attrs.float("tolerance")? as f64);
    Ok(Box::new(move |c: &mut OpCall<'_>| binary_alike(c, move |x: T, y: T| x.sub(y).absolute() < tolerance)))
}
