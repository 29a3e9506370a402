//! Kernels of the nodes of a plan. Those with state belong to the session: every plan that has the node uses the same one. A transfer has
//! none, though its op counts as stateful; plans number theirs each for itself, so that equal names mean nothing.

use super::Compute;
use crate::work::{Kind, Work, WorkNode};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::registry::Registry;
use thalweg_core::runnable::Runnable;
use thalweg_core::sync::lock;

#[derive(Default)]
pub struct KernelCache(Mutex<HashMap<(Arc<str>, Arc<str>), Compute>>);

impl KernelCache {
    /// The kernels by node id; `None` for nodes that need none.
    pub fn for_nodes(&self, work: &Work, order: &[NodeId], device: &str) -> Result<Vec<Option<Compute>>> {
        let device: Arc<str> = device.into();
        let mut computes = vec![None; work.nodes.len()];
        for id in order {
            work.check_now_and_then(*id)?;
            let node = work.node(*id);
            computes[id.at()] = match &node.kind {
                // Loops get theirs when they are made, which is later.
                Kind::Feed(_) | Kind::Value(_) | Kind::Loop(_) => None,
                Kind::Fused(program) => Some(program.compute(node)),
                Kind::Op => Some(
                    self.get(&work.registry, node, &device)
                        .map_err(|e| e.at_node(&node.name, node.op.name).at(node.location))?,
                ),
            };
        }
        Ok(computes)
    }

    fn get(&self, registry: &Registry, node: &WorkNode, device: &Arc<str>) -> Result<Compute> {
        if !node.op.stateful || matches!(node.op.class, Class::Send | Class::Recv) {
            return make(registry, node, device);
        }
        let key = (node.name.clone(), device.clone());
        if let Some(found) = lock(&self.0).get(&key) {
            return Ok(found.clone());
        }
        let made = make(registry, node, device)?;
        Ok(lock(&self.0).entry(key).or_insert(made).clone())
    }
}

fn make(registry: &Registry, node: &WorkNode, device: &Arc<str>) -> Result<Compute> {
    let kernel_node = Arc::new(node.kernel_node(registry, device)?);
    let run = Runnable::make(node.op, &kernel_node, "CPU")?;
    Ok(Compute { run, node: kernel_node })
}
