//! `VariableV2`, `Variable`: a reference variable.

use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;

pub static VARIABLE_V2: Op = Op {
    name: "VariableV2",
    doc: "A variable that keeps its value between runs; the output is a reference to it.",
    outputs: &["ref: Ref(dtype)"],
    attrs: &["shape: shape", "dtype: type", "container: string = ''", "shared_name: string = ''"],
    shape: |c| Ok(vec![c.attrs.shape("shape")?.clone()]),
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

pub static VARIABLE: Op = Op {
    name: "Variable",
    // The op predates unknown shapes: a scalar shape may also mean an unknown one.
    shape: |c| {
        let shape = c.attrs.shape("shape")?.clone();
        Ok(vec![if shape.rank() == Some(0) { PartialShape::unknown() } else { shape }])
    },
    ..VARIABLE_V2
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let variable = CachedResource::new(ResourceKey::of(node)?);
    let (dtype, shape) = (node.attrs.dtype("dtype")?, node.attrs.shape("shape")?.clone());
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let v =
            variable.get(&c.step.device.resources, |name| Ok(Variable::new(name, dtype, shape.clone())))?;
        if v.dtype != dtype {
            return Err(invalid!("variable {} holds {}, this node wants {dtype}", v.name, v.dtype));
        }
        c.set(0, Value::Ref(v));
        Ok(())
    }))
}
