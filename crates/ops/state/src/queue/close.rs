//! `QueueCloseV2`, `QueueClose`: end of input.

use super::resource::Queue;
use crate::named::resource_of;
use crate::prelude::*;

pub static QUEUE_CLOSE_V2: Op = Op {
    name: "QueueCloseV2",
    doc: "Closes the queue after the pending producers; or at once, cancelling them.",
    inputs: &["handle: resource"],
    attrs: &["cancel_pending_enqueues: bool = false"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(async prepare),
    ..Op::STATEFUL
};

pub static QUEUE_CLOSE: Op = Op { name: "QueueClose", inputs: &["handle: Ref(string)"], ..QUEUE_CLOSE_V2 };

struct Close {
    cancel: bool,
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Close { cancel: node.attrs.bool("cancel_pending_enqueues")? }))
}

impl AsyncKernel for Close {
    fn start(&self, call: AsyncCall, done: Done) {
        match call.tensor(0).and_then(|handle| resource_of::<Queue>(&handle, &call.step)) {
            Err(e) => done(Err(e)),
            Ok(queue) if self.cancel => {
                queue.close_and_cancel();
                done(Ok(Outputs::new()));
            }
            Ok(queue) => queue.close(&call.step.cancel, Box::new(|r| done(r.map(|_| Outputs::new())))),
        }
    }
}
