//! The gate: the variables are either being updated, or belong to the chief between two of its steps, which saves them.
//!
//! Without it, others would go on where backups make up for the chief's gradient, or a chief that is told to stop would end an update in
//! the middle: a checkpoint would then hold some variables from before an update and some from after it.

use super::tokens::queue;
use thalweg_client::{Attr, DataType, Operation, Output, Scope};

/// A queue that holds one number while nobody has the gate.
pub struct Gate {
    queue: Output,
}

impl Gate {
    /// `g` is a scope on the device of the global step.
    pub fn new(g: &Scope) -> Gate {
        Gate { queue: queue(g, "sync_update_gate") }
    }

    /// Waits until nobody has it.
    pub fn acquire(&self, g: &Scope) -> Operation {
        let take = g.op("QueueDequeueV2").input(&self.queue);
        take.attr("component_types", Attr::types(&[DataType::Int64])).build()
    }

    pub fn release(&self, g: &Scope) -> Operation {
        g.op("QueueEnqueueV2").input(&self.queue).inputs(&[&g.constant(0i64)]).build()
    }

    /// How often it is there to be acquired: once, or not at all.
    pub fn free(&self, g: &Scope) -> Output {
        g.op("QueueSizeV2").input(&self.queue).output()
    }
}
