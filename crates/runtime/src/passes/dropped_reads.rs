//! Reads of reference variables that folding makes needless: a shape is known without them, but a step that asks for the shape of an
//! uninitialised variable fails in TensorFlow, and programs ask for that reason (`assert_variables_initialized`). So they are made all the
//! same. Of resource variables TensorFlow gives shapes on too.

use crate::work::Work;
use std::collections::HashSet;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};

#[derive(Default)]
pub struct DroppedReads {
    seen: HashSet<NodeId>,
    /// Nodes that take a reference as a value, and the reference.
    found: Vec<(NodeId, Output)>,
}

impl DroppedReads {
    /// Notes the reads that this node, about to become a value, waits for.
    pub fn look(&mut self, work: &Work, id: NodeId) {
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let node = work.node(id);
            next.extend(node.control.iter().copied());
            for input in &node.inputs {
                match work.is_ref(*input) {
                    true => self.found.push((id, *input)),
                    false => next.push(input.node),
                }
            }
        }
    }

    /// Makes them ends of the step.
    pub fn make(self, work: &mut Work) -> Result<()> {
        let mut made: HashSet<Output> = HashSet::new();
        let mut ends: HashSet<NodeId> = work.targets.iter().copied().collect();
        for (id, variable) in self.found {
            let node = work.node(id);
            let read = if node.op.identity && !node.outputs.iter().any(|p| p.is_ref) {
                id
            } else if node.control.is_empty() && !made.insert(variable) {
                continue;
            } else {
                // It takes the reference itself: a read as late, without what else it does.
                let control = node.control.to_vec();
                work.add_read(id, "read", variable, &control)?
            };
            if ends.insert(read) {
                work.targets.push(read);
            }
        }
        Ok(())
    }
}
