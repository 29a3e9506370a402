//! `DestroyResourceOp`: deletes a resource.

use crate::prelude::*;

pub static DESTROY_RESOURCE_OP: Op = Op {
    name: "DestroyResourceOp",
    doc: "Deletes the resource of the handle.",
    inputs: &["resource: resource"],
    attrs: &["ignore_lookup_error: bool = true"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let ignore = node.attrs.bool("ignore_lookup_error")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let handle = c.handle(0)?;
        match c.step.device.resources.remove(&handle.container, &handle.name) {
            Err(e) if !ignore => Err(e),
            _ => Ok(()),
        }
    }))
}
