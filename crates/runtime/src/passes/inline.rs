//! Inlining: function bodies replace the nodes that call them (see `thalweg_graph::calls`).

use crate::device::DeviceSpec;
use crate::work::{Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::Hash;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_graph::Node;
use thalweg_graph::calls::{CallNode, InlineGraph, MAX_CALLS, MAX_NODES, lower_call};
use thalweg_graph::function::Body;
use thalweg_graph::names;

/// Inlines calls, and turns If and While into the primitives of control flow, until none is left.
pub fn inline_calls(work: &mut Work) -> Result<()> {
    let mut at = 0;
    let mut calls = 0;
    // Nodes of bodies are appended, so one sweep reaches nested calls.
    while at < work.nodes.len() {
        let id = NodeId(at as u32);
        at += 1;
        let node = work.node(id);
        if !matches!(node.op.class, Class::Call(_)) || !matches!(node.kind, Kind::Op) {
            continue;
        }
        work.until.check()?;
        calls += 1;
        if calls > MAX_CALLS || work.nodes.len() > MAX_NODES {
            return Err(resource_exhausted(format_args!(
                "the graph's calls expand to more than {MAX_NODES} nodes"
            )));
        }
        work.check_memory()?;
        let node = work.node(id);
        let blame = (node.name.clone(), node.op.name, node.location);
        lower_call(work, id).map_err(|e| e.at_node(&blame.0, blame.1).at(blame.2))?;
    }
    apply_replacements(work);
    Ok(())
}

impl InlineGraph for Work {
    fn call(&self, id: NodeId) -> CallNode {
        let node = self.node(id);
        CallNode {
            name: node.name.to_string(),
            attrs: node.attrs.clone(),
            inputs: node.inputs.clone(),
            control: node.control.clone(),
        }
    }

    fn class(&self, id: NodeId) -> Class {
        self.node(id).op.class
    }

    fn dtype(&self, o: Output) -> DataType {
        self.node(o.node).outputs[o.index as usize].dtype
    }

    fn instantiate(&self, f: &Func) -> Result<Body> {
        self.library.instantiate(&self.registry, f)
    }

    fn next_id(&self) -> Result<NodeId> {
        Ok(NodeId(self.nodes.len() as u32))
    }

    fn add(
        &mut self,
        call: NodeId,
        suffix: &str,
        op: &str,
        inputs: &[Output],
        control: &[NodeId],
        attrs: Attrs,
    ) -> Result<NodeId> {
        Work::add(self, call, suffix, op, inputs, control, attrs)
    }

    fn copy(
        &mut self,
        call: NodeId,
        suffix: &str,
        node: &Node,
        inputs: SmallVec<[Output; 2]>,
        control: SmallVec<[NodeId; 2]>,
    ) -> Result<()> {
        let caller = self.node(call);
        let mut copy = WorkNode::from_node(node, caller.device);
        copy.name = names::inside(&caller.name, suffix, &node.name).into();
        copy.inputs = inputs;
        copy.control = control;
        self.push(copy);
        Ok(())
    }

    fn set_input(&mut self, node: NodeId, input: usize, from: Output) -> Result<()> {
        let slot = self.nodes[node.at()].inputs.get_mut(input);
        *slot.ok_or_else(|| internal("a back edge to an input that is not there"))? = from;
        Ok(())
    }

    fn has_control_flow(&self) -> bool {
        self.has_control_flow
    }

    fn set_control_flow(&mut self) {
        self.has_control_flow = true;
    }

    fn wants_end(&self, _: NodeId) -> bool {
        true
    }

    /// Notes what replaces the call. All uses are changed at the end.
    fn replace(&mut self, id: NodeId, results: &[Output], end: Option<NodeId>) -> Result<()> {
        let end = end.ok_or_else(|| internal("a call without an end"))?;
        if results.len() != self.node(id).outputs.len() {
            return Err(invalid!(
                "the function gives {} results, the call has {} outputs",
                results.len(),
                self.node(id).outputs.len()
            ));
        }
        for (i, (result, port)) in results.iter().zip(&self.node(id).outputs).enumerate() {
            let have = InlineGraph::dtype(self, *result);
            if have != port.dtype {
                return Err(invalid!("result {i} of the function is {have}, the call says {}", port.dtype));
            }
        }
        self.replaced.insert(id, (results.to_vec(), end));
        Ok(())
    }

    /// Where the target is a constant, a call on that device, which is inlined in its turn. Otherwise the kernel decides when it
    /// runs.
    fn lower_remote(&mut self, id: NodeId) -> Result<()> {
        let node = self.node(id);
        let Some(device) = node.inputs.first().and_then(|target| self.named_device(*target, node.device))
        else {
            return Ok(());
        };
        let args: Vec<Output> = node.inputs.iter().skip(1).copied().collect();
        let (attrs, control, results) =
            (node.attrs.clone(), node.control.to_vec(), node.outputs.len() as u32);
        let call = Work::add(self, id, "remote", "StatefulPartitionedCall", &args, &control, attrs)?;
        self.nodes[call.at()].device = device;
        let results: Vec<Output> = (0..results).map(|i| call.output(i)).collect();
        self.replace(id, &results, Some(call))
    }
}

impl Work {
    /// The number of the device that a constant names; parts left open are those of device `from`.
    fn named_device(&self, name: Output, from: u16) -> Option<u16> {
        let node = self.node(name.node);
        if node.op.class != Class::Constant || !matches!(node.kind, Kind::Op) {
            return None;
        }
        let text = node.attrs.tensor("value").ok()?;
        let [text] = text.strings().ok()? else { return None };
        let spec = DeviceSpec::parse(std::str::from_utf8(text).ok()?).ok()?;
        let full = spec.or(self.devices.get(from as usize)?.clone());
        let at = self.devices.iter().position(|d| full.matches(d))?;
        u16::try_from(at).ok()
    }
}

/// Changes all uses of replaced nodes. A result may itself be the output of a replaced call; calls are not recursive, so following
/// them ends.
fn apply_replacements(work: &mut Work) {
    let replaced = std::mem::take(&mut work.replaced);
    let (mut outputs, mut nodes) = (HashMap::new(), HashMap::new());
    let mut output = |o: Output| {
        follow(o, &mut outputs, |o| replaced.get(&o.node).map(|(results, _)| results[o.index as usize]))
    };
    let mut node = |n: NodeId| follow(n, &mut nodes, |n| replaced.get(&n).map(|(_, end)| *end));
    for n in &mut work.nodes {
        n.inputs.iter_mut().for_each(|o| *o = output(*o));
        n.control.iter_mut().for_each(|c| *c = node(*c));
    }
    work.fetches.iter_mut().for_each(|o| *o = output(*o));
    work.targets.iter_mut().for_each(|t| *t = node(*t));
}

/// The end of a chain of replacements. It is cached for the whole chain: nested calls make chains as long as they are deep.
fn follow<T: Copy + Eq + Hash>(start: T, known: &mut HashMap<T, T>, next: impl Fn(T) -> Option<T>) -> T {
    let (mut at, mut passed) = (start, Vec::new());
    let end = loop {
        if let Some(end) = known.get(&at) {
            break *end;
        }
        match next(at) {
            Some(further) => {
                passed.push(at);
                at = further;
            }
            None => break at,
        }
    };
    known.extend(passed.into_iter().map(|p| (p, end)));
    end
}
