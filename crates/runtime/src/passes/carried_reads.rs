//! Values of reference variables that loops or branches forward through a `Merge`.
//!
//! In TensorFlow they share the variable's memory as any read does. A later read cannot replace one: whether the Merge forwards the
//! variable or something else is known only when the step runs. So if such a value is used after an update, all nodes on its path
//! forward the reference, and its users read it when they run.

use super::late_reads::{Variables, before};
use crate::work::{Forward, Kind, Work, WorkNode};
use std::collections::HashSet;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// How many nodes may forward the value of a variable. No real program has more, and they are walked for every variable.
const MAX_NODES: usize = 1024;

/// Makes the nodes that forward the variable's value forward the reference, if the value goes through a Merge and is used after an
/// update. Returns whether it did.
pub fn carry_reference(
    work: &mut Work,
    users: &[Vec<NodeId>],
    variables: &Variables,
    variable: Output,
    is_after: impl Fn(NodeId) -> bool,
) -> bool {
    let Some(path) = path(work, users, variables, variable) else { return false };
    let is_late = |id: &NodeId| {
        let mut using = users[id.at()].iter().filter(|u| takes(work.node(**u), *id));
        using.any(|u| work.node(*u).op.class == Class::Plain && before(work.node(*u)).any(&is_after))
    };
    if !path.iter().any(is_late) {
        return false;
    }
    for id in path {
        let node = &mut work.nodes[id.at()];
        // The second output of a Merge is the index of the input.
        let values = if node.op.class == Class::Merge { 1 } else { node.outputs.len() };
        node.outputs.iter_mut().take(values).for_each(|p| p.is_ref = true);
    }
    true
}

/// All nodes that forward the variable's value, if there is a Merge among them.
fn path(work: &Work, users: &[Vec<NodeId>], variables: &Variables, variable: Output) -> Option<Vec<NodeId>> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let references = variables.references(variable);
    let mut next: Vec<NodeId> = references.iter().map(|r| r.node).collect();
    while let Some(from) = next.pop() {
        for user in &users[from.at()] {
            let node = work.node(*user);
            if forwards_value(node) && takes(node, from) && seen.insert(*user) {
                if path.len() == MAX_NODES {
                    return None;
                }
                path.push(*user);
                next.push(*user);
            }
        }
    }
    path.iter().any(|id| work.node(*id).op.class == Class::Merge).then_some(path)
}

/// Whether the node forwards a value unchanged.
fn forwards_value(node: &WorkNode) -> bool {
    let passes = Forward::of(node.op).is_some() && node.op.class != Class::LoopCond;
    passes && matches!(node.kind, Kind::Op) && node.outputs.iter().all(|p| !p.is_ref)
}

/// Whether the node takes the value of the other as data, not as a control input or the predicate of a Switch.
fn takes(node: &WorkNode, from: NodeId) -> bool {
    let values = match node.op.class {
        Class::Switch => 1,
        _ => node.inputs.len(),
    };
    node.inputs.iter().take(values).any(|o| o.node == from)
}
