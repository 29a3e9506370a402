//! Calls: function bodies are laid out in place of the nodes that call them.

use super::lower;
use crate::work::{Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::invalid;
use thalweg_core::op::Class;

/// Calls that would make the graph larger than this are left to run as calls.
const MAX_NODES: usize = 1 << 20;
/// Nodes that inlining may visit in all: many calls of many functions end somewhere.
const MAX_CALLS: usize = 1 << 16;

/// Inlines calls, and turns If and While into the primitives of control flow, until none is left.
pub fn expand_calls(work: &mut Work) -> Result<()> {
    let mut at = 0;
    let mut calls = 0;
    // Nodes that bodies bring in are appended, so one sweep reaches calls inside calls.
    while at < work.nodes.len() {
        let id = NodeId(at as u32);
        at += 1;
        let node = work.node(id);
        if node.op.class != Class::Call || !matches!(node.kind, Kind::Op) {
            continue;
        }
        calls += 1;
        if calls > MAX_CALLS || work.nodes.len() > MAX_NODES {
            return Err(resource_exhausted(format!(
                "the graph's calls expand to more than {MAX_NODES} nodes"
            )));
        }
        let blame = (node.name.clone(), node.op.name, node.location);
        let expanded = match node.op.name {
            "PartitionedCall" | "StatefulPartitionedCall" => inline_call(work, id),
            "If" | "StatelessIf" => lower::lower_if(work, id),
            "While" | "StatelessWhile" => lower::lower_while(work, id),
            _ => Ok(()),
        };
        expanded.map_err(|e| e.at_node(&blame.0, blame.1).at(blame.2))?;
    }
    apply_replacements(work);
    Ok(())
}

fn inline_call(work: &mut Work, id: NodeId) -> Result<()> {
    let node = work.node(id).clone();
    let f = node.attrs.func("f")?.clone();
    let start = if node.control.is_empty() && !work.has_control_flow {
        None
    } else {
        // Waits for whatever the call would have waited for; a branch not taken makes it, and so the body, dead.
        let before: SmallVec<[NodeId; 4]> =
            node.control.iter().copied().chain(node.inputs.iter().map(|o| o.node)).collect();
        if before.is_empty() {
            None
        } else {
            Some(work.add(id, "start", "NoOp", &[], &before, Attrs::new())?)
        }
    };
    let body = insert_body(work, id, &f, &node.inputs, start, "")?;
    let all_control: Vec<NodeId> =
        body.effects.iter().copied().chain(body.results.iter().map(|o| o.node)).collect();
    let end = work.add(id, "end", "NoOp", &[], &all_control, Attrs::new())?;
    replace_node(work, id, &body.results, end)
}

pub struct Inserted {
    pub results: Vec<Output>,
    /// Nodes that must run for their effects.
    pub effects: Vec<NodeId>,
}

/// Copies the body of a function into the work graph. Nodes of it that wait for nothing wait for `start`, if given.
pub fn insert_body(
    work: &mut Work,
    caller: NodeId,
    f: &Func,
    args: &[Output],
    start: Option<NodeId>,
    suffix: &str,
) -> Result<Inserted> {
    let body = work.library.instantiate(&work.registry, f)?;
    if body.args.len() != args.len() {
        return Err(invalid!(
            "function '{}' takes {} arguments, got {}",
            f.name,
            body.args.len(),
            args.len()
        ));
    }
    for (arg, given) in body.args.iter().zip(args) {
        let want = body.graph.node(*arg).outputs[0].dtype;
        let have = work.node(given.node).outputs[given.index as usize].dtype;
        if want != have {
            return Err(invalid!(
                "function '{}' takes {want} as '{}', got {have}",
                f.name,
                body.graph.node(*arg).name
            ));
        }
    }
    let (prefix, device) = (format!("{}{suffix}/", work.node(caller).name), work.node(caller).device);
    let arg_of: HashMap<NodeId, Output> = body.args.iter().copied().zip(args.iter().copied()).collect();
    let first = work.nodes.len() as u32;
    let mut new_id: Vec<Option<NodeId>> = Vec::with_capacity(body.graph.len());
    let mut next = first;
    for id in body.graph.ids() {
        let is_arg = arg_of.contains_key(&id);
        new_id.push((!is_arg).then_some(NodeId(next)));
        next += u32::from(!is_arg);
    }
    let moved = |o: Output| match (arg_of.get(&o.node), new_id[o.node.at()]) {
        (Some(given), _) => *given,
        (None, Some(n)) => n.output(o.index),
        (None, None) => o,
    };
    let mut effects: Vec<NodeId> = Vec::new();
    for id in body.graph.ids().filter(|id| !arg_of.contains_key(id)) {
        let node = body.graph.node(id);
        let mut copy = WorkNode::from_node(node, device);
        copy.name = format!("{prefix}{}", node.name).into();
        copy.inputs = node.inputs.iter().map(|o| moved(*o)).collect();
        copy.control = node.control.iter().map(|c| moved(c.output(0)).node).collect();
        let waits_for_nothing = copy.inputs.is_empty() && copy.control.is_empty();
        // Only where values can be dead do constants have to wait for the branch they are in.
        if let (true, Some(s)) = (waits_for_nothing, start)
            && (work.has_control_flow || copy.is_stateful())
        {
            copy.control.push(s);
        }
        work.has_control_flow |= node.op.class.is_control_flow();
        if node.op.stateful && !matches!(node.op.class, Class::Argument) {
            effects.push(NodeId(work.nodes.len() as u32));
        }
        work.push(copy);
    }
    let listed = body.control.iter().map(|c| moved(c.output(0)).node);
    effects.extend(listed);
    effects.sort_unstable();
    effects.dedup();
    Ok(Inserted { results: body.results.iter().map(|o| moved(*o)).collect(), effects })
}

/// Notes that results stand in the place of a node's outputs, and `end` in the place of the node itself where others wait for
/// it. The uses are changed all at once, at the end.
pub fn replace_node(work: &mut Work, id: NodeId, results: &[Output], end: NodeId) -> Result<()> {
    if results.len() != work.node(id).outputs.len() {
        return Err(invalid!(
            "the function gives {} results, the call has {} outputs",
            results.len(),
            work.node(id).outputs.len()
        ));
    }
    for (i, (result, port)) in results.iter().zip(&work.node(id).outputs).enumerate() {
        let have = work.node(result.node).outputs[result.index as usize].dtype;
        if have != port.dtype {
            return Err(invalid!("result {i} of the function is {have}, the call says {}", port.dtype));
        }
    }
    work.replaced.insert(id, (results.to_vec(), end));
    Ok(())
}

/// Changes all uses of replaced nodes. A result may itself be the output of a replaced call; calls do not contain
/// themselves, so following them ends.
fn apply_replacements(work: &mut Work) {
    let replaced = std::mem::take(&mut work.replaced);
    let output = |mut o: Output| {
        while let Some((results, _)) = replaced.get(&o.node) {
            o = results[o.index as usize];
        }
        o
    };
    let node = |mut n: NodeId| {
        while let Some((_, end)) = replaced.get(&n) {
            n = *end;
        }
        n
    };
    for n in &mut work.nodes {
        n.inputs.iter_mut().for_each(|o| *o = output(*o));
        n.control.iter_mut().for_each(|c| *c = node(*c));
    }
    work.fetches.iter_mut().for_each(|o| *o = output(*o));
    work.targets.iter_mut().for_each(|t| *t = node(*t));
}
