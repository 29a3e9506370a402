//! Tokens, which replicas wait for between two steps. Each is the stamp of the next step.

use thalweg_client::{Attr, DataType, Operation, Output, PartialShape, Scope};

pub struct Tokens {
    /// One for all replicas, or one for each.
    queues: Vec<Output>,
    /// The queue of this replica.
    own: usize,
    is_shared: bool,
}

const TOKENS: &str = "sync_token_q";

impl Tokens {
    /// One queue for all, as in TensorFlow: a fast replica may take the token of a slow one.
    pub fn shared(g: &Scope) -> Tokens {
        Tokens { queues: vec![queue(g, TOKENS)], own: 0, is_shared: true }
    }

    /// A queue for each of so many replicas, of which this is one.
    pub fn numbered(g: &Scope, replicas: usize, own: usize) -> Tokens {
        let queues = (0..replicas).map(|i| queue(g, &format!("{TOKENS}_of_{i}"))).collect();
        Tokens { queues, own, is_shared: false }
    }

    /// The queue that a queue runner closes.
    pub fn queue(&self) -> &Output {
        // There is one replica at least.
        &self.queues[self.own]
    }

    /// Enqueues so many tokens into the shared queue, or one into each.
    pub fn give(&self, g: &Scope, stamp: &Output, count: i32) -> Operation {
        if self.is_shared {
            let tokens = g.op("Fill").input(g.constant(vec![count])).input(stamp).output();
            let name = format!("{TOKENS}_EnqueueMany");
            let give = g.op("QueueEnqueueManyV2").name(&name).input(self.queue());
            return give.inputs(&[&tokens]).build();
        }
        let give = |g: &Scope, queue: &Output| g.op("QueueEnqueueV2").input(queue).inputs(&[stamp]).build();
        let Some((chief, others)) = self.queues.split_first() else { return g.group::<Operation>(&[]) };
        // The chief's token comes last: with it the chief may exit, which cancels this step.
        let given: Vec<Operation> = others.iter().map(|queue| give(g, queue)).collect();
        give(&g.control_dependencies(&given), chief)
    }

    /// Waits for a token. A replica with a queue of its own dequeues all of them, and uses the newest.
    pub fn take(&self, g: &Scope) -> Output {
        let types = Attr::types(&[DataType::Int64]);
        let name = format!("{TOKENS}_Dequeue");
        if self.is_shared {
            let take = g.op("QueueDequeueV2").name(&name).input(self.queue());
            return take.attr("component_types", types).output();
        }
        let queued = g.op("QueueSizeV2").input(self.queue()).output();
        let count = g.maximum(queued, g.constant(1i32));
        let take = g.op("QueueDequeueManyV2").name(&name).input(self.queue()).input(&count);
        let taken = take.attr("component_types", types).output();
        g.op("Max").input(&taken).input(g.constant(0i32)).output()
    }
}

/// A queue of numbers, on the scope's device.
pub fn queue(g: &Scope, name: &str) -> Output {
    g.op("FIFOQueueV2")
        .name(name)
        .attr("component_types", Attr::types(&[DataType::Int64]))
        .attr("shapes", Attr::List(vec![PartialShape::scalar().into()]))
        .attr("shared_name", name)
        .output()
}
