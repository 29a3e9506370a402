//! Anonymous resources, which live as long as a handle to them.

use crate::prelude::*;
use std::any::Any;
use thalweg_core::resource::{Resource, ResourceHandle};
use thalweg_core::tensor::VariantValue;

/// An op whose output is a null handle.
pub const DUMMY: Op =
    Op { outputs: &["handle: resource"], shape: shape_call::scalar, kernels: cpu!(nothing), ..Op::STATEFUL };

/// An op that deletes an anonymous resource. It does nothing: the resource is dropped with its last handle.
pub const DELETE: Op = Op {
    doc: "Deletes an anonymous resource.",
    inputs: &["handle: resource", "deleter: variant"],
    kernels: cpu!(let_go),
    ..Op::STATEFUL
};

fn nothing(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Tensor::from_object(ResourceHandle::default()));
    Ok(())
}

fn let_go(_: &mut OpCall<'_>) -> Result<()> {
    Ok(())
}

struct Deleter;

impl VariantValue for Deleter {
    fn type_name(&self) -> &'static str {
        "tensorflow::ResourceDeleter"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sets output 0 to a handle that holds the resource, and output 1, where there is one, to its deleter.
pub fn anonymous<R: Resource>(c: &mut OpCall<'_>, resource: Arc<R>) {
    let handle = ResourceHandle {
        device: c.step.device.name.clone(),
        name: "anonymous".into(),
        type_name: resource.kind().into(),
        target: Some(resource.into()),
        ..Default::default()
    };
    c.set(0, Tensor::from_object(handle));
    if c.node.outputs.len() > 1 {
        c.set(1, Tensor::from_object(Variant::new(Deleter)));
    }
}
