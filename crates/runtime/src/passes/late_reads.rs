//! Reads of reference variables, made as late as TensorFlow's are seen.
//!
//! There the result of a read (`Identity`) shares the variable's memory: who comes after an update sees the update, and programs rely on it
//! (the tokens of SyncReplicasOptimizer hold the step that was just counted). Here a value does not change once it is read. So a node that
//! is after an update of the variable gets a read of its own, which is after the update too.

use crate::executor::pass::Pass;
use crate::plan::work_order;
use crate::work::{Kind, Work, WorkNode};
use std::collections::BTreeMap;
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::op::Class;

pub fn read_late(work: &mut Work) -> Result<()> {
    let reads: Vec<_> = reads_by_variable(work).into_iter().collect();
    if reads.is_empty() {
        return Ok(());
    }
    let (users, order) = (users(work), work_order(work)?);
    // As many variables at a time as a word has bits: looking for each alone would go through the whole graph for each.
    for together in reads.chunks(u64::BITS as usize) {
        let variables: Vec<Output> = together.iter().map(|((id, i), _)| NodeId(*id).output(*i)).collect();
        let after = after_updates(work, &users, &order, &variables)?;
        for (k, (_, reads)) in together.iter().enumerate() {
            let is_after = |id: NodeId| after.get(id.at()).is_some_and(|bits| bits >> k & 1 == 1);
            for read in reads {
                for user in users[read.at()].iter().filter(|user| is_after(**user)) {
                    read_again(work, *read, *user, is_after);
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

/// For each node, a bit for each of the variables: whether it takes the variable to change it, or comes after one that does.
fn after_updates(
    work: &Work,
    users: &[Vec<NodeId>],
    order: &[NodeId],
    variables: &[Output],
) -> Result<Vec<u64>> {
    let mut after = vec![0u64; work.nodes.len()];
    for (k, variable) in variables.iter().enumerate() {
        for user in &users[variable.node.at()] {
            let node = work.node(*user);
            let signature = work.registry.signature(node.op)?;
            if node.inputs.contains(variable) && signature.inputs.iter().any(|a| a.is_ref) {
                after[user.at()] |= 1 << k;
            }
        }
    }
    // Where a loop leads back to nodes that come earlier in the order, these pass on what they learn in another round.
    loop {
        let mut went_back = false;
        for id in order {
            work.check_now_and_then(*id)?;
            let bits = after[id.at()];
            let leads_back = work.node(*id).op.class == Class::NextIteration;
            for user in users[id.at()].iter().filter(|_| bits != 0) {
                went_back |= leads_back && after[user.at()] | bits != after[user.at()];
                after[user.at()] |= bits;
            }
        }
        if !went_back {
            return Ok(after);
        }
    }
}

/// Gives a user of a read one that waits for what the user waits for.
fn read_again(work: &mut Work, read: NodeId, user: NodeId, is_after: impl Fn(NodeId) -> bool) {
    let node = work.node(user);
    let same_place = node.device == work.node(read).device && node.op.class == Class::Plain;
    let before = node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied());
    let mut waits: Vec<NodeId> = before.filter(|id| *id != read && is_after(*id)).collect();
    waits.sort_unstable();
    waits.dedup();
    if !same_place || waits.is_empty() {
        return;
    }
    let mut late = work.node(read).clone();
    late.name = format!("{}/late/{}", node.name, late.name).into();
    late.control.extend(waits);
    late.control.sort_unstable();
    late.control.dedup();
    let late = work.push(late);
    for input in &mut work.nodes[user.at()].inputs {
        if input.node == read {
            *input = late.output(input.index);
        }
    }
}
