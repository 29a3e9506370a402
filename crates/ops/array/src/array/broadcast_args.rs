//! `BroadcastArgs`: the broadcast of two shapes.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static BROADCAST_ARGS: Op = Op {
    name: "BroadcastArgs",
    doc: "The shape that tensors of the two shapes have when broadcast together.",
    inputs: &["s0: T", "s1: T"],
    outputs: &["r0: T"],
    attrs: &["T: {int32, int64} = DT_INT32"],
    shape: |c| {
        let (a, b) = (c.rank(0, 1)?.dim(0), c.rank(1, 1)?.dim(0));
        Ok(vec![PartialShape::vector(if a < 0 || b < 0 { -1 } else { a.max(b) })])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        vec![
            Case::new(vec![int_vector(&[2, 1]), int_vector(&[3])]),
            Case::new(vec![int_vector(&[]), int_vector(&[0, 3])]),
            Case::new(vec![int_vector(&[1, 6, -1]), int_vector(&[3, 1, 1, 1])]),
        ]
    },
    host_inputs: &["s0", "s1"],
    host_outputs: &["r0"],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (a, b) = (c.int_vector(0)?, c.int_vector(1)?);
    let out = int_tensor(c.output_type(0)?, &broadcast(&a, &b)?)?;
    c.set(0, out);
    Ok(())
}

/// Sizes are numbers like others here: -1, which programs use for an unknown one, is broadcast with 1.
fn broadcast(a: &[i64], b: &[i64]) -> Result<Vec<i64>> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut sizes = reserve::copied(long)?;
    for (size, other) in sizes.iter_mut().rev().zip(short.iter().rev()) {
        match (*size, *other) {
            (x, y) if x == y || y == 1 => {}
            (1, y) => *size = y,
            (x, y) => {
                return Err(invalid!(
                    "Incompatible shapes: {a:?} and {b:?}: sizes {x} and {y} in one dimension"
                ));
            }
        }
    }
    Ok(sizes)
}
