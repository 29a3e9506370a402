//! Nodes that others only wait for: where nobody uses what a pure node computes, waiting for its inputs says the same.
//!
//! TensorFlow's gradient functions make many: of all gradients of an op, each waits for all, also for those that nobody uses.

use crate::work::{Kind, Work, WorkNode, work_order};
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::node::Output;
use thalweg_core::op::Class;

/// Turns such nodes into `NoOp`s that wait for what they had as inputs.
pub fn skip_unused(work: &mut Work) -> Result<()> {
    let no_op = work.registry.find("NoOp")?;
    let order = work_order(work)?;
    let mut uses = vec![0usize; work.nodes.len()];
    for id in &order {
        work.node(*id).inputs.iter().for_each(|o| uses[o.node.at()] += 1);
    }
    work.fetches.iter().for_each(|o| uses[o.node.at()] += 1);
    work.targets.iter().for_each(|id| uses[id.at()] += 1);
    // From the results back: what becomes a NoOp may leave others unused.
    for id in order.iter().rev() {
        if uses[id.at()] > 0 || !can_be_skipped(work, work.node(*id)) {
            continue;
        }
        let node = &mut work.nodes[id.at()];
        for input in std::mem::take(&mut node.inputs) {
            uses[input.node.at()] -= 1;
            if !node.control.contains(&input.node) {
                node.control.push(input.node);
            }
        }
        (node.op, node.attrs) = (no_op, Attrs::new());
        node.outputs.clear();
    }
    Ok(())
}

/// Many inputs are many edges to look through; few nodes have them, and fewer are left unused.
const MAX_INPUTS: usize = 64;

fn can_be_skipped(work: &Work, node: &WorkNode) -> bool {
    // Of a switch one output is dead and the other not, and a dead value may be received: who waits for those nodes themselves does not
    // learn of it. What enters a loop once is there in every round, but waited for in the first.
    let tells_less = |o: &Output| {
        let class = work.node(o.node).op.class;
        class.is_control_flow() || class == Class::Recv
    };
    matches!(node.kind, Kind::Op)
        && node.op.class == Class::Plain
        && !node.op.stateful
        && (1..=MAX_INPUTS).contains(&node.inputs.len())
        && !node.inputs.iter().any(tells_less)
        && node.outputs.iter().all(|p| !p.is_ref)
}
