//! Reads of reference variables, made as late as TensorFlow's are seen.
//!
//! There the result of a read (`Identity`) shares the variable's memory: who waits for an update before using it sees the update, and programs
//! rely on it (the tokens of SyncReplicasOptimizer hold the step that was just counted). Here a value does not change once it is read. So a
//! node that waits for others gets a read of its own, which waits for them too.

use crate::executor::pass::Pass;
use crate::work::{Kind, Work, WorkNode};
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::op::Class;

pub fn read_late(work: &mut Work) {
    for at in 0..work.nodes.len() {
        let node = &work.nodes[at];
        if node.control.is_empty() || node.op.class != Class::Plain {
            continue;
        }
        let early = |o: &Output| is_read(work, work.node(o.node)) && work.node(o.node).device == node.device;
        let reads: Vec<usize> = (0..node.inputs.len()).filter(|i| early(&node.inputs[*i])).collect();
        for i in reads {
            let (node, input) = (&work.nodes[at], work.nodes[at].inputs[i]);
            let mut read = work.node(input.node).clone();
            read.name = format!("{}/late_{i}/{}", node.name, read.name).into();
            let waits: Vec<NodeId> =
                node.control.iter().copied().filter(|c| !read.control.contains(c)).collect();
            read.control.extend(waits);
            let late = work.push(read);
            work.nodes[at].inputs[i] = late.output(input.index);
        }
    }
}

/// Whether a node passes on the value of a reference variable.
fn is_read(work: &Work, node: &WorkNode) -> bool {
    let passes = matches!(node.kind, Kind::Op) && Pass::of(node.op.class, node.op.name) == Some(Pass::On);
    let of_variable = |o: &Output| work.node(o.node).outputs.get(o.index as usize).is_some_and(|p| p.is_ref);
    let gives_ref = node.outputs.first().is_some_and(|p| p.is_ref);
    passes && node.op.class == Class::Plain && !gives_ref && node.inputs.first().is_some_and(of_variable)
}
