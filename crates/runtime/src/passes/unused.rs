//! Pure nodes with only control edges out: waiting for their inputs instead has the same effect.
//!
//! TensorFlow's gradient functions make many: each gradient of an op waits for all of them, also for unused ones.

use crate::work::{Kind, Work, WorkNode, work_order};
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::node::Output;
use thalweg_core::op::Class;

/// Turns such nodes into `NoOp`s whose control inputs are their former inputs.
pub fn skip_unused(work: &mut Work) -> Result<()> {
    let no_op = work.registry.find("NoOp")?;
    let order = work_order(work)?;
    let mut uses = vec![0usize; work.nodes.len()];
    for id in &order {
        work.node(*id).inputs.iter().for_each(|o| uses[o.node.at()] += 1);
    }
    work.fetches.iter().for_each(|o| uses[o.node.at()] += 1);
    work.targets.iter().for_each(|id| uses[id.at()] += 1);
    // In reverse order: a node that becomes a NoOp may leave others unused.
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

/// Nodes with more inputs are rare, and comparing their edges takes time.
const MAX_INPUTS: usize = 64;

fn can_be_skipped(work: &Work, node: &WorkNode) -> bool {
    // One output of a Switch is dead, and a Recv may receive a dead tensor: a control edge from the node itself does not carry that. A
    // constant Enter has a value in every iteration, but a control edge from it only in the first.
    let hides_deadness = |o: &Output| {
        let class = work.node(o.node).op.class;
        class.is_control_flow() || class == Class::Recv
    };
    matches!(node.kind, Kind::Op)
        && node.op.class == Class::Plain
        && !node.op.stateful
        && (1..=MAX_INPUTS).contains(&node.inputs.len())
        && !node.inputs.iter().any(hides_deadness)
        && node.outputs.iter().all(|p| !p.is_ref)
}
