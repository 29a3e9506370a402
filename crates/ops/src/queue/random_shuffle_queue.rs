//! `RandomShuffleQueueV2`, `RandomShuffleQueue`: a queue that gives elements out in random order.

use super::fifo_queue::{FIFO_QUEUE, FIFO_QUEUE_V2};
use super::handle::{known_shapes, queue_kernel};
use super::items::Items;
use super::resource::Spec;
use crate::prelude::*;
use thalweg_math::random::PhiloxState;

pub static RANDOM_SHUFFLE_QUEUE_V2: Op = Op {
    name: "RandomShuffleQueueV2",
    doc: "A handle to a queue that gives elements out in random order, and keeps min_after_dequeue to choose from.",
    attrs: &[
        "component_types: list(type) >= 1",
        "shapes: list(shape) >= 0 = []",
        "capacity: int = -1",
        "min_after_dequeue: int = 0",
        "seed: int = 0",
        "seed2: int = 0",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    kernels: cpu!(make prepare),
    ..FIFO_QUEUE_V2
};

pub static RANDOM_SHUFFLE_QUEUE: Op = Op {
    name: "RandomShuffleQueue",
    doc: RANDOM_SHUFFLE_QUEUE_V2.doc,
    attrs: RANDOM_SHUFFLE_QUEUE_V2.attrs,
    kernels: RANDOM_SHUFFLE_QUEUE_V2.kernels,
    ..FIFO_QUEUE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (capacity, min) = (node.attrs.int("capacity")?, node.attrs.int("min_after_dequeue")?);
    let min_after_dequeue =
        usize::try_from(min).map_err(|_| invalid!("min_after_dequeue {min} must be >= 0"))?;
    if capacity >= 0 && min >= capacity {
        return Err(invalid!("min_after_dequeue {min} must be < capacity {capacity}"));
    }
    let spec = Spec {
        kind: "RandomShuffleQueue",
        types: node.attrs.types("component_types")?,
        shapes: known_shapes(node)?,
        capacity,
        min_after_dequeue,
        seeds: (node.attrs.int("seed")?, node.attrs.int("seed2")?),
    };
    queue_kernel(node, spec, |spec, entropy| {
        Items::shuffled(PhiloxState::new(spec.seeds.0, spec.seeds.1, entropy).reserve(0))
    })
}
