//! `NoOp`: only a target of control edges.

use crate::prelude::*;

pub static NO_OP: Op = Op {
    name: "NoOp",
    doc: "Does nothing; groups control dependencies.",
    grad: Stops,
    kernels: cpu!(run),
    ..Op::PURE
};

fn run(_: &mut OpCall<'_>) -> Result<()> {
    Ok(())
}
