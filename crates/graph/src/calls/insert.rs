//! Copies a function's body in place of a call.

use super::{CallNode, InlineGraph};
use crate::function::Body;
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

pub fn inline_call(graph: &mut impl InlineGraph, id: NodeId, f: &Func) -> Result<()> {
    let node = graph.call(id);
    let start = start(graph, id, &node)?;
    let body = graph.instantiate(f)?;
    let body = insert_body(graph, id, &body, &node.inputs, start, "")?;
    let end = if graph.wants_end(id) {
        let all: Vec<NodeId> =
            body.effects.iter().copied().chain(body.results.iter().map(|o| o.node)).collect();
        Some(graph.add(id, "end", "NoOp", &[], &all, Attrs::new())?)
    } else {
        None
    };
    graph.replace(id, &body.results, end)
}

/// Waits for the inputs of the call; dead, as is the body, in a branch not taken.
fn start(graph: &mut impl InlineGraph, id: NodeId, node: &CallNode) -> Result<Option<NodeId>> {
    if node.control.is_empty() && !graph.has_control_flow() {
        return Ok(None);
    }
    let mut before: SmallVec<[NodeId; 4]> = node.control.iter().copied().collect();
    for o in &node.inputs {
        // A control edge from a Switch is live even if the output used is dead.
        before.push(match graph.class(o.node) {
            Class::Switch => {
                let attrs = [("T", graph.dtype(*o))].into_iter().collect();
                graph.add(id, "alive", "Identity", &[*o], &[], attrs)?
            }
            _ => o.node,
        });
    }
    if before.is_empty() {
        return Ok(None);
    }
    Ok(Some(graph.add(id, "start", "NoOp", &[], &before, Attrs::new())?))
}

pub struct Inserted {
    pub results: Vec<Output>,
    /// Nodes that run for their side effects.
    pub effects: Vec<NodeId>,
}

/// Copies the body of a function into the graph. Its nodes without inputs wait for `start`, if given.
pub fn insert_body(
    graph: &mut impl InlineGraph,
    call: NodeId,
    body: &Body,
    args: &[Output],
    start: Option<NodeId>,
    suffix: &str,
) -> Result<Inserted> {
    if body.args.len() != args.len() {
        return Err(invalid!("its function takes {} arguments, got {}", body.args.len(), args.len()));
    }
    for (arg, given) in body.args.iter().zip(args) {
        let (want, have) = (body.graph.dtype(arg.output(0)), graph.dtype(*given));
        if want != have {
            return Err(invalid!(
                "its function takes {want} as '{}', got {have}",
                body.graph.node(*arg).name
            ));
        }
    }
    let arg_of: HashMap<NodeId, Output> = body.args.iter().copied().zip(args.iter().copied()).collect();
    let mut new_id: Vec<Option<NodeId>> = Vec::with_capacity(body.graph.len());
    let mut next = graph.next_id()?.0;
    for id in body.graph.ids() {
        let is_arg = arg_of.contains_key(&id);
        new_id.push((!is_arg).then_some(NodeId(next)));
        next = next.saturating_add(u32::from(!is_arg));
    }
    let moved = |o: Output| match (arg_of.get(&o.node), new_id[o.node.at()]) {
        (Some(given), _) => *given,
        (None, Some(n)) => n.output(o.index),
        (None, None) => o,
    };
    let mut effects: Vec<NodeId> = Vec::new();
    for id in body.graph.ids().filter(|id| !arg_of.contains_key(id)) {
        let node = body.graph.node(id);
        let inputs: SmallVec<[Output; 2]> = node.inputs.iter().map(|o| moved(*o)).collect();
        let mut control: SmallVec<[NodeId; 2]> =
            node.control.iter().map(|c| moved(c.output(0)).node).collect();
        // Constants need the control input only where values can be dead.
        if let (true, true, Some(s)) = (inputs.is_empty(), control.is_empty(), start)
            && (graph.has_control_flow() || node.op.stateful)
        {
            control.push(s);
        }
        if node.op.class.is_control_flow() {
            graph.set_control_flow();
        }
        if node.op.stateful && !matches!(node.op.class, Class::Argument) {
            effects.extend(new_id[id.at()]);
        }
        graph.copy(call, suffix, node, inputs, control)?;
    }
    let listed = body.control.iter().map(|c| moved(c.output(0)).node);
    effects.extend(listed);
    effects.sort_unstable();
    effects.dedup();
    Ok(Inserted { results: body.results.iter().map(|o| moved(*o)).collect(), effects })
}
