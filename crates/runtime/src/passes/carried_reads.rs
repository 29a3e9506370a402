//! Values of reference variables that loops carry or branches give on, through a `Merge`.
//!
//! In TensorFlow they share the variable's memory as any read does. No read made later can stand for one: where it comes from, a
//! variable or something else, is known only when the step runs. So where somebody uses it after an update, all nodes on its way
//! pass the reference on, and who uses it reads it then.

use super::late_reads::{Variables, before};
use crate::work::{Forward, Kind, Work, WorkNode};
use std::collections::HashSet;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// How many nodes may pass on the value of a variable. More are no program's, and would be walked for every variable.
const MAX_NODES: usize = 1024;

/// Whether the variable's value is used after an update, having been carried: then those who pass it on pass on the reference.
pub fn carry_reference(
    work: &mut Work,
    users: &[Vec<NodeId>],
    variables: &Variables,
    variable: Output,
    is_after: impl Fn(NodeId) -> bool,
) -> bool {
    let Some(way) = way(work, users, variables, variable) else { return false };
    let is_late = |id: &NodeId| {
        let mut using = users[id.at()].iter().filter(|u| takes(work.node(**u), *id));
        using.any(|u| work.node(*u).op.class == Class::Plain && before(work.node(*u)).any(&is_after))
    };
    if !way.iter().any(is_late) {
        return false;
    }
    for id in way {
        let node = &mut work.nodes[id.at()];
        // The second output of a Merge is the number of the input.
        let values = if node.op.class == Class::Merge { 1 } else { node.outputs.len() };
        node.outputs.iter_mut().take(values).for_each(|p| p.is_ref = true);
    }
    true
}

/// All nodes that pass the variable's value on, if there is a Merge among them.
fn way(work: &Work, users: &[Vec<NodeId>], variables: &Variables, variable: Output) -> Option<Vec<NodeId>> {
    let mut way = Vec::new();
    let mut seen = HashSet::new();
    let references = variables.references(variable);
    let mut next: Vec<NodeId> = references.iter().map(|r| r.node).collect();
    while let Some(from) = next.pop() {
        for user in &users[from.at()] {
            let node = work.node(*user);
            if passes_on(node) && takes(node, from) && seen.insert(*user) {
                if way.len() == MAX_NODES {
                    return None;
                }
                way.push(*user);
                next.push(*user);
            }
        }
    }
    way.iter().any(|id| work.node(*id).op.class == Class::Merge).then_some(way)
}

/// Whether the node gives a value on as it is.
fn passes_on(node: &WorkNode) -> bool {
    let passes = Forward::of(node.op).is_some() && node.op.class != Class::LoopCond;
    passes && matches!(node.kind, Kind::Op) && node.outputs.iter().all(|p| !p.is_ref)
}

/// Whether the node takes the value that the other gives on, not just waits for it or asks which way it went.
fn takes(node: &WorkNode, from: NodeId) -> bool {
    let values = match node.op.class {
        Class::Switch => 1,
        _ => node.inputs.len(),
    };
    node.inputs.iter().take(values).any(|o| o.node == from)
}
