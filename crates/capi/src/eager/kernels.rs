//! One op, one kernel: prepared for the attrs and types that it is called with, and kept.
//!
//! This is the mechanism that other front ends with eager execution need too; it belongs into a crate below when there are two.

use super::context::Context;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::invalid;
use thalweg_core::kernel::KernelNode;
use thalweg_core::op::{Class, Op};
use thalweg_core::registry::Registry;
use thalweg_core::runnable::Runnable;
use thalweg_core::signature::{ArgType, Signature, infer_attrs};
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::device::Device;

/// By op and input types, those of different attrs.
type Known = HashMap<(&'static str, String, Vec<Vec<DataType>>), Vec<(Attrs, Prepared)>>;

/// Kernels kept for one op and its input types.
const MOST_ALIKE: usize = 64;

#[derive(Clone)]
struct Prepared {
    runnable: Runnable,
    node: Arc<KernelNode>,
}

#[derive(Default)]
pub struct Kernels(Mutex<Known>);

/// Inputs by argument.
pub type Inputs = Vec<Vec<Tensor>>;

fn types(inputs: &Inputs) -> Vec<Vec<DataType>> {
    inputs.iter().map(|arg| arg.iter().map(Tensor::dtype).collect()).collect()
}

/// The attrs of a call, those included that follow from its inputs. Where both say something, the inputs are right, as in TensorFlow.
pub fn completed(signature: &Signature, inputs: &Inputs, mut attrs: Attrs) -> Result<Attrs> {
    for (arg, _) in signature.inputs.iter().zip(inputs).filter(|(_, given)| !given.is_empty()) {
        let by_type = match arg.ty {
            ArgType::Attr(name) | ArgType::List(name) => Some(name),
            ArgType::Fixed(_) => None,
        };
        for name in [by_type, arg.number].into_iter().flatten() {
            attrs.remove(name);
        }
    }
    infer_attrs(signature, &types(inputs), &mut attrs)?;
    signature.complete(&mut attrs)?;
    Ok(attrs)
}

/// Only what has a value runs by itself.
pub fn check_eager(op: &Op, signature: &Signature) -> Result<()> {
    if signature.inputs.iter().chain(&signature.outputs).any(|arg| arg.is_ref) {
        return Err(unimplemented(format_args!(
            "{} works on references, which eager execution has not",
            op.name
        )));
    }
    match op.class {
        Class::Plain | Class::Constant | Class::Call(_) => Ok(()),
        _ => Err(invalid!("{} is part of a graph, and cannot be executed by itself", op.name)),
    }
}

impl Kernels {
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    pub fn run(
        &self,
        context: &Context,
        registry: &Registry,
        op: &'static Op,
        device: &Device,
        (mut attrs, inputs): (Attrs, Inputs),
    ) -> Result<Vec<Tensor>> {
        let blame = |e: thalweg_core::error::Error| e.at_node(op.name, op.name);
        let signature = registry.signature(op)?;
        check_eager(op, signature)?;
        // Two resources without names are not the same.
        let nameless = op.stateful
            && signature.attr("shared_name").is_some()
            && attrs.bytes("shared_name").map_or(true, |name| name.is_empty());
        if nameless {
            let number = context.count.fetch_add(1, Ordering::Relaxed);
            attrs.set("shared_name", Attr::str(&format!("_eager_{number}")));
        }
        let known = (op.name, device.name().to_string(), types(&inputs));
        let prepared = match self.find(&known, &attrs) {
            Some(prepared) => prepared,
            None => {
                let all = completed(signature, &inputs, attrs.clone()).map_err(blame)?;
                let node = KernelNode::new(op, signature, op.name.into(), all, device.name().into());
                let node = Arc::new(node.map_err(blame)?);
                let runnable =
                    Runnable::make(op, &node, device.spec.kind.as_deref().unwrap_or("CPU")).map_err(blame)?;
                let prepared = Prepared { runnable, node };
                let large = attrs.iter().any(|(_, attr)| matches!(attr, Attr::Tensor(_)));
                if !nameless && !large {
                    self.keep(known, attrs, prepared.clone());
                }
                prepared
            }
        };
        let step = context.count.fetch_add(1, Ordering::Relaxed);
        let step = Arc::new(StepContext::new(step, device.context.clone()));
        let _charged = device.context.memory.enter();
        let count = prepared.node.outputs.len();
        let outputs = direct::run(&prepared.runnable, &prepared.node, &step, inputs.concat())?;
        (0..count)
            .map(|i| match outputs.get(i) {
                Some(Some(value)) => value.clone().into_tensor(),
                _ => Err(internal(format_args!("{} did not set output {i}", op.name))),
            })
            .collect()
    }

    fn find(&self, key: &(&'static str, String, Vec<Vec<DataType>>), attrs: &Attrs) -> Option<Prepared> {
        let known = lock(&self.0);
        known.get(key)?.iter().find(|(have, _)| have == attrs).map(|(_, prepared)| prepared.clone())
    }

    fn keep(&self, key: (&'static str, String, Vec<Vec<DataType>>), attrs: Attrs, prepared: Prepared) {
        let mut known = lock(&self.0);
        let alike = known.entry(key).or_default();
        if alike.len() >= MOST_ALIKE {
            alike.clear();
        }
        alike.push((attrs, prepared));
    }
}
