//! Constant evaluation: constants, and small pure computations on them.

use crate::graph::Graph;
use crate::node::Node;
use std::sync::{Arc, OnceLock};
use thalweg_core::access::Access;
use thalweg_core::attr::Attrs;
use thalweg_core::direct;
use thalweg_core::kernel::KernelNode;
use thalweg_core::memory::Holder;
use thalweg_core::node::Output;
use thalweg_core::op::Class;
use thalweg_core::resource::ResourceStore;
use thalweg_core::runnable::Runnable;
use thalweg_core::signature::Port;
use thalweg_core::step::{DeviceContext, StepContext};
use thalweg_core::tensor::Tensor;
use thalweg_math::pool::Pool;

/// Evaluates small constants while a graph is built, for shape inference.
#[derive(Default)]
pub struct Folder(OnceLock<Option<Arc<StepContext>>>);

/// Limits of the search, in nodes and elements: shapes and axes are small.
const MAX_NODES: usize = 48;
const MAX_DEPTH: usize = 16;
const MAX_ELEMENTS: usize = 4096;

impl Folder {
    pub fn value(&self, graph: &Graph, o: Output) -> Option<Tensor> {
        self.evaluate(graph, o, 0, &mut MAX_NODES.clone())
    }

    fn evaluate(&self, graph: &Graph, o: Output, depth: usize, budget: &mut usize) -> Option<Tensor> {
        let node = graph.node(o.node);
        if node.op.class == Class::Constant {
            return constant_value(&node.attrs, &node.outputs).cloned();
        }
        if let Some(rule) = node.op.shape_value {
            return rule(&graph.shape(*node.inputs.get(o.index as usize)?), &node.attrs);
        }
        *budget = budget.checked_sub(1)?;
        let foldable = node.op.class == Class::Plain
            && !node.op.stateful
            && !node.op.expensive
            && !node.inputs.is_empty();
        let small = node.shape(o.index).elements().is_none_or(|n| n as usize <= MAX_ELEMENTS);
        // Wide nodes (AddN of thousands) are no shape arithmetic.
        if !foldable || !small || depth >= MAX_DEPTH || node.inputs.len() > 16 {
            return None;
        }
        let inputs: Option<Vec<Tensor>> =
            node.inputs.iter().map(|i| self.evaluate(graph, *i, depth + 1, budget)).collect();
        let inputs = inputs?;
        if inputs.iter().any(|t| t.elements() > MAX_ELEMENTS) {
            return None;
        }
        let outputs = run_node(graph, node, self.step()?, inputs)?;
        outputs.into_iter().nth(o.index as usize)
    }

    fn step(&self) -> Option<&Arc<StepContext>> {
        self.0
            .get_or_init(|| {
                let device = DeviceContext {
                    name: "/device:CPU:0".into(),
                    incarnation: 0,
                    pool: Pool::new(1).ok()?,
                    resources: Arc::new(ResourceStore::new("")),
                    memory: Arc::new(Holder::nobody()),
                    entropy: Arc::new(|| 0),
                    print: Arc::new(|_| {}),
                    access: Arc::new(Access::nothing()),
                };
                Some(Arc::new(StepContext::new(0, Arc::new(device))))
            })
            .as_ref()
    }
}

/// The tensor of a `Const`, if it has the node's declared type: else running it is an error.
pub fn constant_value<'a>(attrs: &'a Attrs, outputs: &[Port]) -> Option<&'a Tensor> {
    let value = attrs.tensor("value").ok()?;
    outputs.first().filter(|p| p.dtype == value.dtype()).map(|_| value)
}

/// Runs one node of a graph on these inputs; `None` if it has no kernel, or fails.
pub fn run_node(
    graph: &Graph,
    node: &Node,
    step: &Arc<StepContext>,
    inputs: Vec<Tensor>,
) -> Option<Vec<Tensor>> {
    let kernel_node = Arc::new(kernel_node(graph, node)?);
    let runnable = Runnable::make(node.op, &kernel_node, "CPU").ok()?;
    if matches!(runnable, Runnable::Async(_)) {
        return None;
    }
    let outputs = direct::run(&runnable, &kernel_node, step, inputs).ok()?;
    outputs.into_iter().map(|v| v?.into_tensor().ok()).collect()
}

fn kernel_node(graph: &Graph, node: &Node) -> Option<KernelNode> {
    let signature = graph.signature(node.op).ok()?;
    let made =
        KernelNode::new(node.op, signature, node.name.clone(), node.attrs.clone(), node.device.clone())
            .ok()?;
    Some(KernelNode { outputs: node.outputs.to_vec(), location: node.location, ..made })
}
