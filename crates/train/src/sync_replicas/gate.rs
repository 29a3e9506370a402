//! The gate, a mutex in the graph: either an update holds it, or the chief between two of its steps, when it saves.
//!
//! Without it, an update from the gradients of backups could overlap with saving, or a chief that stops could cancel an update
//! halfway: a checkpoint would then hold some variables from before an update and some from after it.

use super::tokens::queue;
use thalweg_client::{Attr, DataType, Operation, Output, Scope};

/// A queue that holds one element while the gate is free.
pub struct Gate {
    queue: Output,
}

impl Gate {
    /// `g` is a scope on the device of the global step.
    pub fn new(g: &Scope) -> Gate {
        Gate { queue: queue(g, "sync_update_gate") }
    }

    /// Waits until it is free, and takes it.
    pub fn acquire(&self, g: &Scope) -> Operation {
        let take = g.op("QueueDequeueV2").input(&self.queue);
        take.attr("component_types", Attr::types(&[DataType::Int64])).build()
    }

    pub fn release(&self, g: &Scope) -> Operation {
        g.op("QueueEnqueueV2").input(&self.queue).inputs(&[&g.constant(0i64)]).build()
    }

    /// 1 if it is free, else 0.
    pub fn free(&self, g: &Scope) -> Output {
        g.op("QueueSizeV2").input(&self.queue).output()
    }
}
