//! Queues: tuples of tensors passed between steps, with back-pressure: producers wait if full, consumers if empty.

mod close;
mod dequeue;
mod enqueue;
mod handle;
mod items;
mod kinds;
mod resource;
mod size;

pub use resource::Queue;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![kinds::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &enqueue::QUEUE_ENQUEUE_V2,
    &enqueue::QUEUE_ENQUEUE,
    &enqueue::QUEUE_ENQUEUE_MANY_V2,
    &enqueue::QUEUE_ENQUEUE_MANY,
    &dequeue::QUEUE_DEQUEUE_V2,
    &dequeue::QUEUE_DEQUEUE,
    &dequeue::QUEUE_DEQUEUE_MANY_V2,
    &dequeue::QUEUE_DEQUEUE_MANY,
    &dequeue::QUEUE_DEQUEUE_UP_TO_V2,
    &dequeue::QUEUE_DEQUEUE_UP_TO,
    &close::QUEUE_CLOSE_V2,
    &close::QUEUE_CLOSE,
    &size::QUEUE_SIZE_V2,
    &size::QUEUE_SIZE,
    &size::QUEUE_IS_CLOSED_V2,
    &size::QUEUE_IS_CLOSED,
];

#[cfg(test)]
mod tests;
