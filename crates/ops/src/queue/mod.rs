//! Queues: tuples of tensors that steps hand to each other, with producers waiting for room and consumers for elements.

mod close;
mod dequeue;
mod enqueue;
mod fifo_queue;
mod handle;
mod items;
mod padding_fifo_queue;
mod priority_queue;
mod random_shuffle_queue;
mod resource;
mod size;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &fifo_queue::FIFO_QUEUE_V2,
    &fifo_queue::FIFO_QUEUE,
    &random_shuffle_queue::RANDOM_SHUFFLE_QUEUE_V2,
    &random_shuffle_queue::RANDOM_SHUFFLE_QUEUE,
    &padding_fifo_queue::PADDING_FIFO_QUEUE_V2,
    &padding_fifo_queue::PADDING_FIFO_QUEUE,
    &priority_queue::PRIORITY_QUEUE_V2,
    &priority_queue::PRIORITY_QUEUE,
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
