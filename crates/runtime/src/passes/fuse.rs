//! Fusion: trees of elementwise ops become one node that keeps its intermediate values in the first-level cache.
//!
//! The program interprets the ops' own tile functions over short runs of elements, so the values are exactly those of the
//! separate nodes. Inputs that broadcast in other ways than "one element to all" take the ops' own kernels instead.

mod program;

use crate::work::{Kind, Work, WorkNode, work_order};
use program::Builder;
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_core::op::Tile;

/// Ops in one fused node at most.
const MAX_OPS: usize = 4096;

pub fn fuse_elementwise(work: &mut Work) -> Result<()> {
    // The nodes of a tree could be in different frames, or on different branches.
    if work.has_control_flow {
        return Ok(());
    }
    let order = work_order(work)?;
    let uses = count_uses(work, &order);
    let mut taken = vec![false; work.nodes.len()];
    // In reverse order: the last op of a tree collects the ops before it.
    for id in order.iter().rev() {
        if taken[id.at()] || fusible(work.node(*id)).is_none() {
            continue;
        }
        let group = gather(work, *id, &uses, &taken);
        if group.len() < 2 {
            continue;
        }
        group.iter().for_each(|g| taken[g.at()] = true);
        if let Some((program, inputs)) = Builder::build(work, &group) {
            let node = &mut work.nodes[id.at()];
            node.kind = Kind::Fused(Arc::new(program).compute(node));
            node.inputs = inputs.into();
        }
    }
    Ok(())
}

/// How often each node's value is used; control edges, fetches and targets count as several uses.
pub(super) fn count_uses(work: &Work, order: &[NodeId]) -> HashMap<NodeId, u32> {
    let mut uses: HashMap<NodeId, u32> = HashMap::new();
    for id in order {
        let node = work.node(*id);
        for o in &node.inputs {
            *uses.entry(o.node).or_default() += 1;
        }
        for c in &node.control {
            *uses.entry(*c).or_default() += 2;
        }
    }
    for id in work.fetches.iter().map(|o| o.node).chain(work.targets.iter().copied()) {
        *uses.entry(id).or_default() += 2;
    }
    uses
}

/// The type that a node computes elementwise in, if it can be part of a fused loop.
pub(crate) fn fusible(node: &WorkNode) -> Option<DataType> {
    if !matches!(node.kind, Kind::Op) || !node.control.is_empty() {
        return None;
    }
    let dtype = node.outputs.first()?.dtype;
    tile_of(node, dtype).map(|_| dtype)
}

pub fn tile_of(node: &WorkNode, dtype: DataType) -> Option<Tile> {
    node.op.tiles.iter().copied().find(|t| t.dtype() == dtype && t.inputs() == node.inputs.len())
}

/// The node and the fusible ones before it without other users, last first.
fn gather(work: &Work, root: NodeId, uses: &HashMap<NodeId, u32>, taken: &[bool]) -> Vec<NodeId> {
    let Some(dtype) = fusible(work.node(root)) else { return Vec::new() };
    let device = work.node(root).device;
    let mut group = vec![root];
    let mut at = 0;
    while at < group.len() && group.len() < MAX_OPS {
        for o in &work.node(group[at]).inputs {
            let node = work.node(o.node);
            let alone = uses.get(&o.node) == Some(&1) && !taken[o.node.at()];
            if alone && node.device == device && fusible(node) == Some(dtype) {
                group.push(o.node);
            }
        }
        at += 1;
    }
    group
}
