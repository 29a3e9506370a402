//! `ReadVariableOp`: the value of a resource variable.

use super::target::{initialised, variable_shape};
use crate::prelude::*;

pub static READ_VARIABLE_OP: Op = Op {
    name: "ReadVariableOp",
    doc: "The current value of a resource variable.",
    inputs: &["resource: resource"],
    outputs: &["value: dtype"],
    attrs: &["dtype: type"],
    shape: |c| Ok(vec![variable_shape(c, 0)]),
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(run),
    always_produces: true,
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (v, value) = initialised(c, 0)?;
    if value.dtype() != c.output_type(0)? {
        return Err(invalid!("variable {} holds {}, asked for {}", v.name, value.dtype(), c.output_type(0)?));
    }
    c.set(0, value);
    Ok(())
}
