//! `QueueSizeV2`, `QueueIsClosedV2` and their older forms: the state of a queue.

use super::resource::Queue;
use crate::named::resource_input;
use crate::prelude::*;

pub static QUEUE_SIZE_V2: Op = Op {
    name: "QueueSizeV2",
    doc: "The number of elements in the queue.",
    inputs: &["handle: resource"],
    outputs: &["size: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(size),
    ..Op::STATEFUL
};

pub static QUEUE_SIZE: Op = Op { name: "QueueSize", inputs: &["handle: Ref(string)"], ..QUEUE_SIZE_V2 };

pub static QUEUE_IS_CLOSED_V2: Op = Op {
    name: "QueueIsClosedV2",
    doc: "Whether the queue has been closed.",
    outputs: &["is_closed: bool"],
    kernels: cpu!(is_closed),
    ..QUEUE_SIZE_V2
};

pub static QUEUE_IS_CLOSED: Op =
    Op { name: "QueueIsClosed", inputs: &["handle: Ref(string)"], ..QUEUE_IS_CLOSED_V2 };

fn size(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Queue>(c)?.len();
    c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
    Ok(())
}

fn is_closed(c: &mut OpCall<'_>) -> Result<()> {
    let closed = resource_input::<Queue>(c)?.is_closed();
    c.set(0, Tensor::scalar(closed));
    Ok(())
}
