//! Inlines the calls on the gradient path, so that gradients are built for the nodes of their bodies. The call itself becomes an
//! `IdentityN` of the results, so that its name and outputs stay the same.

use super::{CallNode, InlineGraph, MAX_CALLS, MAX_NODES, lower_call};
use crate::function::Body;
use crate::graph::{Graph, NodeRequest};
use crate::infer;
use crate::names;
use crate::node::Node;
use crate::order::topological_order;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use thalweg_core::attr::{Attr, Attrs, Func};
use thalweg_core::builder::Arg;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// Inlines the calls between `xs` and `ys`, and nested ones.
pub fn expand_between(graph: &mut Graph, ys: &[Output], xs: &[Output]) -> Result<()> {
    let mut done: HashSet<NodeId> = HashSet::new();
    let control_flow = graph.nodes().iter().any(|n| n.op.class.is_control_flow());
    let mut target = InGraph { graph, control_flow };
    loop {
        let found = calls_between(target.graph, ys, xs);
        let calls: Vec<NodeId> = found.into_iter().filter(|id| !done.contains(id)).collect();
        if calls.is_empty() {
            return Ok(());
        }
        for id in calls {
            if done.len() > MAX_CALLS || target.graph.len() > MAX_NODES {
                return Err(resource_exhausted(format_args!(
                    "the calls that gradients go through make more than {MAX_NODES} nodes"
                )));
            }
            expand(&mut target, id)?;
            done.insert(id);
        }
    }
}

fn expand(target: &mut InGraph<'_>, id: NodeId) -> Result<()> {
    let from = target.graph.len();
    let call = target.graph.node(id).clone();
    lower_call(target, id).map_err(|e| call.blame(e))?;
    let graph = &mut *target.graph;
    for new in topological_order(graph, from)? {
        let shapes = infer::shapes(graph, graph.node(new)).map_err(|e| call.blame(e))?;
        graph.node_mut(new).shapes = shapes;
    }
    let inferred = infer::shapes(graph, graph.node(id))?;
    let known = call.shapes.iter().zip(&inferred);
    graph.node_mut(id).shapes = known.map(|(old, new)| old.merge(new).unwrap_or(new.clone())).collect();
    Ok(())
}

/// Calls that depend on `xs` and that `ys` depend on; in the order of the graph.
fn calls_between(graph: &Graph, ys: &[Output], xs: &[Output]) -> Vec<NodeId> {
    if !graph.nodes().iter().any(|n| matches!(n.op.class, Class::Call(_))) {
        return Vec::new();
    }
    let mut used_by: HashMap<Output, Vec<NodeId>> = HashMap::new();
    let mut seen: HashSet<NodeId> = HashSet::new();
    let mut stack: Vec<NodeId> = ys.iter().map(|y| y.node).collect();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        for o in &graph.node(id).inputs {
            used_by.entry(*o).or_default().push(id);
            stack.push(o.node);
        }
    }
    let mut found = HashSet::new();
    let mut values: Vec<Output> = xs.to_vec();
    while let Some(o) = values.pop() {
        for user in used_by.remove(&o).unwrap_or_default() {
            if found.insert(user) {
                values.extend((0..graph.node(user).outputs.len() as u32).map(|i| user.output(i)));
            }
        }
    }
    let mut calls: Vec<NodeId> =
        found.into_iter().filter(|id| matches!(graph.node(*id).op.class, Class::Call(_))).collect();
    calls.sort_unstable();
    calls
}

struct InGraph<'g> {
    graph: &'g mut Graph,
    control_flow: bool,
}

impl InlineGraph for InGraph<'_> {
    fn call(&self, id: NodeId) -> CallNode {
        let node = self.graph.node(id);
        CallNode {
            name: node.name.to_string(),
            attrs: node.attrs.clone(),
            inputs: node.inputs.clone(),
            control: node.control.clone(),
        }
    }

    fn class(&self, id: NodeId) -> Class {
        self.graph.node(id).op.class
    }

    fn dtype(&self, o: Output) -> DataType {
        self.graph.dtype(o)
    }

    fn instantiate(&self, f: &Func) -> Result<Body> {
        self.graph.library.instantiate_within(&self.graph.registry, f, self.graph.gradient_depth)
    }

    fn next_id(&self) -> Result<NodeId> {
        let next = u32::try_from(self.graph.len());
        next.map(NodeId).map_err(|_| resource_exhausted("a graph has at most 2^32 nodes"))
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
        let (name, device, location) = {
            let node = self.graph.node(call);
            (format!("{}/{suffix}", node.name), node.device.clone(), node.location)
        };
        let args: Vec<Arg> = match self.graph.registry.find(op)?.class {
            Class::Merge => vec![Arg::List(inputs.to_vec())],
            _ => inputs.iter().map(|o| Arg::One(*o)).collect(),
        };
        let request = NodeRequest { op, name: &name, args, attrs, control, device: &device, location };
        self.graph.add_node(request)
    }

    fn copy(
        &mut self,
        call: NodeId,
        suffix: &str,
        node: &Node,
        inputs: SmallVec<[Output; 2]>,
        control: SmallVec<[NodeId; 2]>,
    ) -> Result<()> {
        let caller = self.graph.node(call);
        let (wanted, location) = (names::inside(&caller.name, suffix, &node.name), caller.location);
        let device = if node.device.is_empty() { caller.device.clone() } else { node.device.clone() };
        let name = self.graph.unique_name(&wanted).into();
        let location = node.location.or(location);
        self.graph.push(Node { name, inputs, control, device, location, ..node.clone() })?;
        Ok(())
    }

    fn set_input(&mut self, node: NodeId, input: usize, from: Output) -> Result<()> {
        self.graph.set_input(node, input, from)
    }

    fn has_control_flow(&self) -> bool {
        self.control_flow
    }

    fn set_control_flow(&mut self) {
        self.control_flow = true;
    }

    fn wants_end(&self, call: NodeId) -> bool {
        self.graph.node(call).op.stateful
    }

    fn replace(&mut self, call: NodeId, results: &[Output], end: Option<NodeId>) -> Result<()> {
        let types: Vec<DataType> = results.iter().map(|o| self.graph.dtype(*o)).collect();
        let node = self.graph.node(call);
        let declared: Vec<DataType> = node.outputs.iter().map(|p| p.dtype).collect();
        if types != declared {
            return Err(invalid!("its function gives {types:?}, the call says {declared:?}"));
        }
        let mut attrs = Attrs::new();
        attrs.set("T", Attr::types(&types));
        let mut same = node.clone();
        same.op = self.graph.registry.find("IdentityN")?;
        same.attrs = attrs;
        same.inputs = results.into();
        same.control = end.into_iter().collect();
        let same = self.graph.completed(same)?;
        self.graph.rewrite(call, same);
        Ok(())
    }
}
