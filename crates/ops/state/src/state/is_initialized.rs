//! `IsVariableInitialized`, `VarIsInitializedOp`: whether a variable has a value.

use crate::prelude::*;

pub static IS_VARIABLE_INITIALIZED: Op = Op {
    name: "IsVariableInitialized",
    doc: "Whether a reference variable has been given a value.",
    inputs: &["ref: Ref(dtype)"],
    outputs: &["is_initialized: bool"],
    attrs: &["dtype: type"],
    shape: shape_call::scalar,
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let known = c.reference(0)?.is_initialised();
    c.set(0, Tensor::scalar(known));
    Ok(())
}

pub static VAR_IS_INITIALIZED_OP: Op = Op {
    name: "VarIsInitializedOp",
    doc: "Whether a resource variable exists and has been given a value.",
    inputs: &["resource: resource"],
    outputs: &["is_initialized: bool"],
    shape: shape_call::scalar,
    kernels: cpu!(run_resource),
    ..Op::STATEFUL
};

fn run_resource(c: &mut OpCall<'_>) -> Result<()> {
    c.handle(0)?;
    let known = c.resource::<Variable>(0).is_ok_and(|v| v.is_initialised());
    c.set(0, Tensor::scalar(known));
    Ok(())
}
