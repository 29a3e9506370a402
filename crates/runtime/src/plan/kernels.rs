//! Kernels of the nodes of a plan. Stateful ones belong to the session: every plan that has the node shares them. A
//! Send or Recv is not shared, though its op is stateful: each plan numbers its own, so equal names mean nothing.

use crate::work::{Compute, Kind, Work, WorkNode};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use thalweg_core::error::Result;
use thalweg_core::kernel::KernelNode;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::registry::Registry;
use thalweg_core::runnable::Runnable;
use thalweg_core::sync::lock;

/// The kernels of one work graph.
#[derive(Default)]
pub struct Kernels {
    /// By node id; `None` for nodes that need none.
    pub computes: Vec<Option<Compute>>,
    /// The kernels of loop programs, by node.
    pub loops: HashMap<NodeId, LoopRunnables>,
}

/// The kernels of a pure loop program.
pub struct LoopRunnables {
    /// Runs the loop to its end.
    pub whole: Runnable,
    /// Yields its thread from time to time.
    pub sliced: Runnable,
}

impl Kernels {
    pub fn get(&self, id: NodeId) -> Option<&Compute> {
        self.computes.get(id.at())?.as_ref()
    }

    /// The kernel of a node of a loop program. A loop inside a loop runs to its end within an iteration.
    pub fn inside_loop(&self, id: NodeId) -> Option<Compute> {
        let compute = self.get(id)?;
        Some(match self.loops.get(&id) {
            Some(inner) => Compute { run: inner.whole.clone(), node: compute.node.clone() },
            None => compute.clone(),
        })
    }

    pub fn add_loop(&mut self, id: NodeId, compute: Compute, runnables: LoopRunnables) {
        self.computes.resize(id.at() + 1, None);
        self.computes[id.at()] = Some(compute);
        self.loops.insert(id, runnables);
    }

    /// Whether a kernel is asynchronous.
    pub fn any_async(&self) -> bool {
        self.computes.iter().flatten().any(|c| matches!(c.run, Runnable::Async(_)))
    }

    /// Makes all loops yield their thread.
    pub fn slice_loops(&mut self) {
        for (id, runnables) in &self.loops {
            if let Some(Some(Compute { run: run @ Runnable::Prepared(_), .. })) =
                self.computes.get_mut(id.at())
            {
                *run = runnables.sliced.clone();
            }
        }
    }
}

/// The stateful kernels of a session, by node name and device.
#[derive(Default)]
pub struct KernelCache {
    held: Mutex<HashMap<(Arc<str>, Arc<str>), Compute>>,
    /// Those of functions, whose nodes may have the names of others.
    functions: Mutex<HashMap<String, Arc<KernelCache>>>,
}

impl KernelCache {
    /// The kernels of a function.
    pub fn of_function(&self, key: &str) -> Arc<KernelCache> {
        let mut functions = lock(&self.functions);
        match functions.get(key) {
            Some(found) => found.clone(),
            None => functions.entry(key.into()).or_default().clone(),
        }
    }

    pub fn for_nodes(&self, work: &Work, order: &[NodeId], device: &str) -> Result<Kernels> {
        let device: Arc<str> = device.into();
        let mut computes = vec![None; work.nodes.len()];
        for id in order {
            work.check_now_and_then(*id)?;
            let node = work.node(*id);
            computes[id.at()] = match &node.kind {
                // A loop's kernel is made later.
                Kind::Feed(_) | Kind::Value(_) | Kind::Loop => None,
                Kind::Fused(compute) => {
                    let node = KernelNode { device: device.clone(), ..(*compute.node).clone() };
                    Some(Compute { run: compute.run.clone(), node: Arc::new(node) })
                }
                Kind::Op => Some(
                    self.get(&work.registry, node, &device)
                        .map_err(|e| e.at_node(&node.name, node.op.name).at(node.location))?,
                ),
            };
        }
        Ok(Kernels { computes, loops: HashMap::new() })
    }

    fn get(&self, registry: &Registry, node: &WorkNode, device: &Arc<str>) -> Result<Compute> {
        if !node.op.stateful || matches!(node.op.class, Class::Send | Class::Recv) {
            return make(registry, node, device);
        }
        let key = (node.name.clone(), device.clone());
        if let Some(found) = lock(&self.held).get(&key) {
            return Ok(found.clone());
        }
        let made = make(registry, node, device)?;
        Ok(lock(&self.held).entry(key).or_insert(made).clone())
    }
}

fn make(registry: &Registry, node: &WorkNode, device: &Arc<str>) -> Result<Compute> {
    let kernel_node = Arc::new(node.kernel_node(registry, device)?);
    let run = Runnable::make(node.op, &kernel_node, "CPU")?;
    Ok(Compute { run, node: kernel_node })
}
