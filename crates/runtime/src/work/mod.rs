//! `Work`: the part of a graph that one run signature needs, in the form that passes rewrite.

mod compute;
mod forward;
mod order;
mod prune;

pub use compute::Compute;
pub use forward::Forward;
pub use order::work_order;

use crate::device::DeviceSpec;
use crate::until::Until;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use thalweg_core::attr::Attrs;
use thalweg_core::error::{Error, Result};
use thalweg_core::kernel::KernelNode;
use thalweg_core::memory;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Op;
use thalweg_core::registry::Registry;
use thalweg_core::signature::Port;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Node;
use thalweg_graph::frames::FrameNode;
use thalweg_graph::function::Library;

/// What a work node computes.
#[derive(Clone)]
pub enum Kind {
    /// The kernel of its op.
    Op,
    /// The value of feed number `n`.
    Feed(usize),
    /// A value known when the plan is made.
    Value(Tensor),
    /// Several elementwise ops in one loop, which is its kernel.
    Fused(Compute),
    /// A whole while loop. Its program belongs to the plan that made it.
    Loop,
}

#[derive(Clone)]
pub struct WorkNode {
    pub name: Arc<str>,
    pub op: &'static Op,
    pub kind: Kind,
    pub attrs: Attrs,
    pub inputs: SmallVec<[Output; 2]>,
    pub control: SmallVec<[NodeId; 2]>,
    pub outputs: SmallVec<[Port; 1]>,
    pub device: u16,
    pub location: Option<&'static Location<'static>>,
}

/// Bytes that compiling a node of usual size takes at most, passes and plan together.
const COMPILE_BYTES: usize = 2 << 10;

/// A rewritable graph with its fetches and targets. Node ids index `nodes`; passes append nodes, and do not remove unused ones.
pub struct Work {
    pub nodes: Vec<WorkNode>,
    pub fetches: Vec<Output>,
    pub targets: Vec<NodeId>,
    pub registry: Arc<Registry>,
    pub library: Library,
    /// Whether values may be dead: there is control flow.
    pub has_control_flow: bool,
    /// The deadline of compiling.
    pub until: Until,
    /// Calls that have been inlined: their results, and the node that runs after them.
    pub replaced: HashMap<NodeId, (Vec<Output>, NodeId)>,
    /// The devices that nodes may be moved to, by their number.
    pub devices: Vec<DeviceSpec>,
}

impl WorkNode {
    pub fn from_node(node: &Node, device: u16) -> WorkNode {
        WorkNode {
            name: node.name.clone(),
            op: node.op,
            kind: Kind::Op,
            attrs: node.attrs.clone(),
            inputs: node.inputs.clone(),
            control: node.control.clone(),
            outputs: node.outputs.clone(),
            device,
            location: node.location,
        }
    }

    pub fn is_stateful(&self) -> bool {
        matches!(self.kind, Kind::Op) && self.op.stateful
    }

    /// What its kernel is made from.
    pub fn kernel_node(&self, registry: &Registry, device: &Arc<str>) -> Result<KernelNode> {
        let signature = registry.signature(self.op)?;
        let node =
            KernelNode::new(self.op, signature, self.name.clone(), self.attrs.clone(), device.clone())?;
        Ok(KernelNode { outputs: self.outputs.to_vec(), location: self.location, ..node })
    }
}

impl FrameNode for WorkNode {
    fn op(&self) -> &'static Op {
        self.op
    }
    fn attrs(&self) -> &Attrs {
        &self.attrs
    }
    fn inputs(&self) -> &[Output] {
        &self.inputs
    }
    fn control(&self) -> &[NodeId] {
        &self.control
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn is_free(&self) -> bool {
        matches!(self.kind, Kind::Feed(_) | Kind::Value(_)) && self.control.is_empty()
    }
    fn blame(&self, e: Error) -> Error {
        e.at_node(&self.name, self.op.name).at(self.location)
    }
}

impl Work {
    pub fn empty(registry: Arc<Registry>, library: Library, until: Until) -> Work {
        Work {
            nodes: Vec::new(),
            fetches: Vec::new(),
            targets: Vec::new(),
            registry,
            library,
            has_control_flow: false,
            until,
            replaced: HashMap::new(),
            devices: Vec::new(),
        }
    }

    pub fn node(&self, id: NodeId) -> &WorkNode {
        &self.nodes[id.at()]
    }

    /// An error if compiling so many nodes would exceed the memory budget.
    pub fn check_memory(&self) -> Result<()> {
        memory::check(self.nodes.len().saturating_mul(COMPILE_BYTES))
            .map_err(|e| e.context(format_args!("compiling {} nodes", self.nodes.len())))
    }

    /// For passes at this node: an error at the deadline of compiling, or if it was cancelled.
    pub fn check_now_and_then(&self, at: NodeId) -> Result<()> {
        self.until.check_at(at.at())
    }

    pub fn push(&mut self, node: WorkNode) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a node; its types follow from the attrs.
    pub fn add(
        &mut self,
        like: NodeId,
        suffix: &str,
        op: &str,
        inputs: &[Output],
        control: &[NodeId],
        attrs: Attrs,
    ) -> Result<NodeId> {
        let op = self.registry.find(op)?;
        let mut attrs = attrs;
        let signature = self.registry.signature(op)?;
        signature.complete(&mut attrs)?;
        let outputs = signature.output_ports(&attrs)?.into();
        let base = self.node(like);
        let node = WorkNode {
            name: format!("{}/{suffix}", base.name).into(),
            op,
            kind: Kind::Op,
            attrs,
            inputs: inputs.iter().copied().collect(),
            control: control.iter().copied().collect(),
            outputs,
            device: base.device,
            location: base.location,
        };
        Ok(self.push(node))
    }

    /// Whether this output is a reference to a variable, not a value.
    pub fn is_ref(&self, o: Output) -> bool {
        self.node(o.node).outputs.get(o.index as usize).is_some_and(|p| p.is_ref)
    }

    /// Adds a read of a reference variable.
    pub fn add_read(
        &mut self,
        like: NodeId,
        suffix: &str,
        variable: Output,
        control: &[NodeId],
    ) -> Result<NodeId> {
        let mut attrs = Attrs::new();
        if let Some(port) = self.node(variable.node).outputs.get(variable.index as usize) {
            attrs.set("T", port.dtype);
        }
        self.add(like, suffix, "Identity", &[variable], control, attrs)
    }
}
