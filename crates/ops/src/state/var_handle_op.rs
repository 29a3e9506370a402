//! `VarHandleOp`: a handle to a resource variable.

use super::named::{Place, Remembered};
use crate::prelude::*;

pub static VAR_HANDLE_OP: Op = Op {
    name: "VarHandleOp",
    doc: "A handle to the variable of this container and name.",
    outputs: &["resource: resource"],
    attrs: &[
        "container: string = ''",
        "shared_name: string = ''",
        "debug_name: string = ''",
        "dtype: type",
        "shape: shape",
        "allowed_devices: list(string) = []",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make prepare),
    role: Role::VariableHandle,
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let variable = Remembered::new(Place::of(node)?);
    let (dtype, shape) = (node.attrs.dtype("dtype")?, node.attrs.shape("shape")?.clone());
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let v =
            variable.get(&c.step.device.resources, |name| Ok(Variable::new(name, dtype, shape.clone())))?;
        let handle = variable.handle(c, v, vec![(dtype, shape.clone())]);
        c.set(0, handle);
        Ok(())
    }))
}
