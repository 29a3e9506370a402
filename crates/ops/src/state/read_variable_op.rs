//! `ReadVariableOp`: the value of a resource variable.

use crate::prelude::*;

pub static READ_VARIABLE_OP: Op = Op {
    name: "ReadVariableOp",
    doc: "The current value of a resource variable.",
    inputs: &["resource: resource"],
    outputs: &["value: dtype"],
    attrs: &["dtype: type"],
    shape: |c| Ok(vec![c.handle(0).map_or(PartialShape::unknown(), |h| h.1)]),
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let v = c.resource::<Variable>(0)?;
    let value = v.read().map_err(|_| uninitialised(&v.name))?;
    if value.dtype() != c.output_type(0)? {
        return Err(invalid!("variable {} holds {}, asked for {}", v.name, value.dtype(), c.output_type(0)?));
    }
    c.set(0, value);
    Ok(())
}

fn uninitialised(name: &str) -> Error {
    failed_precondition(format!(
        "Could not find variable {name}. This could mean that the variable has been deleted, or was never initialized."
    ))
}
