//! The weight of the critical path behind each node: of several ready nodes, the one with the heaviest path runs first.

use super::loops::is_loop;
use crate::work::Work;
use thalweg_core::node::NodeId;

/// A loop's iterations run one after another, so a loop weighs as several nodes.
pub const LOOP_WEIGHT: u32 = 8;

/// For each work node, the weight of the heaviest path behind it. Back edges do not count.
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
