//! `VarHandleOp`: a handle to a resource variable.

use crate::named::{CachedResource, ResourceKey};
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
    always_produces: true,
    handle_contents: Some(|attrs| Some((attrs.dtype("dtype").ok()?, attrs.shape("shape").ok()?.clone()))),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let variable = CachedResource::new(ResourceKey::of(node)?);
    let holds = (node.attrs.dtype("dtype")?, node.attrs.shape("shape")?.clone());
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if let Some(handle) = variable.known_handle(c) {
            c.set(0, handle);
            return Ok(());
        }
        let make = |name: &str| Ok(Variable::new(name, holds.0, holds.1.clone()));
        let v = variable.get(&c.step.device.resources, make)?;
        let handle = variable.handle(c, v, std::slice::from_ref(&holds));
        c.set(0, handle);
        Ok(())
    }))
}
