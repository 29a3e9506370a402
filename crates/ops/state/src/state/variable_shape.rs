//! `VariableShape`: the shape of a resource variable's value.

use super::target::{initialised, variable_shape};
use crate::convert::int_tensor;
use crate::prelude::*;

pub static VARIABLE_SHAPE: Op = Op {
    name: "VariableShape",
    doc: "The shape of the variable's value, as a vector.",
    inputs: &["input: resource"],
    outputs: &["output: out_type"],
    attrs: &["out_type: {int32, int64} = DT_INT32"],
    shape: |c| Ok(vec![PartialShape::vector(variable_shape(c, 0).rank().map_or(-1, |r| r as i64))]),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let dims = initialised(c, 0)?.1.shape().to_i64();
    let out = int_tensor(c.output_type(0)?, &dims)?;
    c.set(0, out);
    Ok(())
}
