//! How much work worth a thread waits for each node: of several that could run, the one that most waits for goes first.

use super::loops::is_loop;
use crate::work::Work;
use thalweg_core::node::NodeId;

/// A loop's rounds follow one another, whatever else there is to do.
pub const LOOP_WEIGHT: u32 = 8;

/// For each work node, the weight of the heaviest path behind it. Edges against the order, those of loops, count for nothing.
pub fn urgencies(work: &Work, order: &[NodeId]) -> Vec<u32> {
    let mut behind = vec![0u32; work.nodes.len()];
    for id in order.iter().rev() {
        let node = work.node(*id);
        let weight = match node.op {
            op if is_loop(op) => LOOP_WEIGHT,
            op => op.expensive as u32,
        };
        let here = behind[id.at()].saturating_add(weight);
        for before in node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied()) {
            behind[before.at()] = behind[before.at()].max(here);
        }
    }
    behind
}
