//! Eager execution: ops run at once, on tensors with values. A [`Tape`] records them; gradients are those of the graph that the recorded ops
//! make, which is built and compiled once for each sequence of ops and shapes.
//!
//! Graphs whose sessions are opened by [`Eager::session`] share the variables: a loop of Python may call a compiled function, an optimizer or a layer,
//! which are graphs, on the variables that its own ops use.

mod adopt;
mod backward;
mod structure;
mod tape;

pub use backward::{EagerGradient, Gradients, saved_for_gradients};
pub use tape::{GraphCall, Recorded, Tape};

use crate::scope::Scope;
use crate::session::Session;
use backward::Backward;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::cancel::Cancellation;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::registry::Registry;
use thalweg_core::resource::ResourceHandle;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
pub use thalweg_runtime::eager::{EagerOp, Results};
use thalweg_runtime::{SessionOptions, eager};

/// The container of variables that outlive any graph.
const CONTAINER: &str = "eager";

/// A tensor with its value. Its id tells it from others on tapes; zero for literals, which no tape watches.
#[derive(Clone)]
pub struct EagerTensor {
    /// The value.
    pub tensor: Tensor,
    /// Unique, or zero.
    pub id: u64,
}

/// Runs ops at once, on the devices that its sessions share.
pub struct Eager {
    ops: eager::Eager,
    options: SessionOptions,
    ids: AtomicU64,
    backward: Mutex<HashMap<Vec<u64>, Arc<Backward>>>,
}

impl Eager {
    /// With devices of its own.
    pub fn new(registry: Arc<Registry>, options: SessionOptions) -> Result<Eager> {
        let device = options.make_devices()?.into_iter().next();
        let device = device.ok_or_else(|| internal("no device"))?;
        let ops = eager::Eager::new(registry, device);
        Ok(Eager { ops, options, ids: AtomicU64::new(1), backward: Mutex::default() })
    }

    /// The ops, with their kernels.
    pub fn ops(&self) -> &eager::Eager {
        &self.ops
    }

    /// A number that no tensor, variable or container has.
    pub fn fresh_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// The tensor with an id of its own.
    pub fn tensor(&self, tensor: Tensor) -> EagerTensor {
        EagerTensor { tensor, id: self.fresh_id() }
    }

    /// Runs an op by its name. Arguments with several tensors are as long as `lens` says.
    pub fn run(
        &self,
        op: &str,
        lens: &[u32],
        inputs: Vec<Tensor>,
        attrs: &Attrs,
        cancel: Option<Arc<Cancellation>>,
    ) -> Result<(Arc<EagerOp>, Results)> {
        let op = self.ops.op(self.ops.registry().find(op)?, lens, inputs.iter().map(Tensor::dtype), attrs)?;
        let results = self.ops.run(&op, inputs, cancel)?;
        Ok((op, results))
    }

    /// A session on a scope's graph, in this process, with the variables of eager execution.
    pub fn session(&self, scope: &Scope) -> Result<Session> {
        Session::on_devices(scope, self.options.clone(), vec![self.ops.device().for_session()?])
    }

    /// The handle of a new variable with this value.
    pub fn variable(&self, name: &str, value: Tensor) -> Result<EagerTensor> {
        let id = self.fresh_id();
        let mut attrs = Attrs::new();
        attrs.set("container", Attr::str(CONTAINER));
        attrs.set("shared_name", Attr::str(&format!("{name}#{id}")));
        attrs.set("dtype", value.dtype());
        attrs.set("shape", thalweg_core::shape::PartialShape::from(value.shape()));
        let (_, made) = self.run("VarHandleOp", &[], Vec::new(), &attrs, None)?;
        let handle = made.into_iter().next().ok_or_else(|| internal("a variable without a handle"))?;
        let mut assign = Attrs::new();
        assign.set("dtype", value.dtype());
        self.run("AssignVariableOp", &[1, 1], vec![handle.clone(), value], &assign, None)?;
        Ok(EagerTensor { tensor: handle, id })
    }

    /// Frees a variable; graphs that still read it fail.
    pub fn forget(&self, handle: &ResourceHandle) {
        let resources = &self.ops.device().context.resources;
        drop(resources.remove(&handle.container, &handle.name));
    }

    /// The gradients of a recorded structure: known, or built now.
    fn backward(&self, key: Vec<u64>, build: impl FnOnce() -> Result<Backward>) -> Result<Arc<Backward>> {
        if let Some(known) = lock(&self.backward).get(&key) {
            return Ok(known.clone());
        }
        let made = Arc::new(build()?);
        let mut known = lock(&self.backward);
        if known.len() >= backward::MOST_KNOWN {
            known.clear();
        }
        known.insert(key, made.clone());
        Ok(made)
    }
}

/// Whether tensors of this type are watched: only they have gradients.
pub fn is_differentiable(dtype: DataType) -> bool {
    thalweg_graph::gradients::carries(dtype)
}

/// The one handle in a tensor, if it is a variable's.
pub(crate) fn variable_handle(tensor: &Tensor) -> Option<&ResourceHandle> {
    match tensor.resources() {
        Ok([handle]) if !handle.values.is_empty() => Some(handle),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
