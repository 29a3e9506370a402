//! Reads of reference variables, made as late as TensorFlow's are seen.
//!
//! There the result of a read (`Identity`) shares the variable's memory: who comes after an update sees the update, and programs rely on it
//! (the tokens of SyncReplicasOptimizer hold the step that was just counted). Here a value does not change once it is read. So a node that
//! is after an update of the variable gets a read of its own, which is after the update too.

use crate::executor::pass::Pass;
use crate::work::{Kind, Work, WorkNode};
use std::collections::{BTreeMap, HashSet};
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::op::Class;

pub fn read_late(work: &mut Work) -> Result<()> {
    let reads = reads_by_variable(work);
    if reads.is_empty() {
        return Ok(());
    }
    let users = users(work);
    for (variable, reads) in reads {
        let variable = NodeId(variable.0).output(variable.1);
        let after = after_updates(work, &users, variable)?;
        for read in reads {
            for user in &users[read.at()] {
                if after.contains(user) {
                    read_again(work, read, *user, &after);
                }
            }
        }
    }
    Ok(())
}

/// Nodes that pass on the value of a reference variable, by the variable.
fn reads_by_variable(work: &Work) -> BTreeMap<(u32, u32), Vec<NodeId>> {
    let mut found: BTreeMap<(u32, u32), Vec<NodeId>> = BTreeMap::new();
    for (at, node) in work.nodes.iter().enumerate() {
        if let Some(variable) = variable_read(work, node) {
            found.entry((variable.node.0, variable.index)).or_default().push(NodeId(at as u32));
        }
    }
    found
}

fn variable_read(work: &Work, node: &WorkNode) -> Option<Output> {
    let passes =
        matches!(node.kind, Kind::Op) && node.op.class == Class::Plain && Pass::of(node.op) == Some(Pass::On);
    let source = *node.inputs.first().filter(|_| passes)?;
    let is_ref = |id: NodeId, index: u32| work.node(id).outputs.get(index as usize).is_some_and(|p| p.is_ref);
    is_ref(source.node, source.index).then_some(source)
}

/// For each node, those that use its outputs or wait for it.
fn users(work: &Work) -> Vec<Vec<NodeId>> {
    let mut users = vec![Vec::new(); work.nodes.len()];
    for (at, node) in work.nodes.iter().enumerate() {
        for before in node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied()) {
            users[before.at()].push(NodeId(at as u32));
        }
    }
    users
}

/// The nodes that take the variable to change it, and all that come after one of them.
fn after_updates(work: &Work, users: &[Vec<NodeId>], variable: Output) -> Result<HashSet<NodeId>> {
    let mut next = Vec::new();
    for user in &users[variable.node.at()] {
        let node = work.node(*user);
        let signature = work.registry.signature(node.op)?;
        if node.inputs.contains(&variable) && signature.inputs.iter().any(|a| a.is_ref) {
            next.push(*user);
        }
    }
    let mut after: HashSet<NodeId> = next.iter().copied().collect();
    while let Some(id) = next.pop() {
        next.extend(users[id.at()].iter().copied().filter(|user| after.insert(*user)));
    }
    Ok(after)
}

/// Gives a user of a read one that waits for what the user waits for.
fn read_again(work: &mut Work, read: NodeId, user: NodeId, after: &HashSet<NodeId>) {
    let node = work.node(user);
    let same_place = node.device == work.node(read).device && node.op.class == Class::Plain;
    let before = node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied());
    let mut waits: Vec<NodeId> = before.filter(|id| *id != read && after.contains(id)).collect();
    waits.sort_unstable();
    waits.dedup();
    if !same_place || waits.is_empty() {
        return;
    }
    let mut late = work.node(read).clone();
    late.name = format!("{}/late/{}", node.name, late.name).into();
    waits.retain(|id| !late.control.contains(id));
    late.control.extend(waits);
    let late = work.push(late);
    for input in &mut work.nodes[user.at()].inputs {
        if input.node == read {
            *input = late.output(input.index);
        }
    }
}
