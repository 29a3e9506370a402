//! Reads of reference variables that constant folding makes unnecessary, as it knows the shape. In TensorFlow a step that reads
//! the shape of an uninitialised variable fails, and programs rely on it (`assert_variables_initialized`). So the reads are kept as
//! targets. Shapes of resource variables are folded by TensorFlow too.

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
    /// Notes the reads that this node, about to be folded, depends on.
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

    /// Makes them targets of the step.
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
                // It takes the reference itself: replaced by a read with the same control inputs.
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
