//! `FIFOQueueV2`, `PaddingFIFOQueueV2`, `PriorityQueueV2`, `RandomShuffleQueueV2` and their older forms: the kinds of queues.

use super::handle::{known_shapes, queue_kernel};
use super::items::Items;
use super::resource::Spec;
use crate::prelude::*;
use thalweg_math::random::PhiloxState;

pub static OPS: &[&Op] = &[
    &FIFO_QUEUE,
    &by_reference("FIFOQueue", FIFO_QUEUE),
    &PADDING_FIFO_QUEUE,
    &by_reference("PaddingFIFOQueue", PADDING_FIFO_QUEUE),
    &PRIORITY_QUEUE,
    &by_reference("PriorityQueue", PRIORITY_QUEUE),
    &RANDOM_SHUFFLE_QUEUE,
    &by_reference("RandomShuffleQueue", RANDOM_SHUFFLE_QUEUE),
];

/// The legacy form of a queue: its handle is a reference to two strings.
const fn by_reference(name: &'static str, queue: Op) -> Op {
    Op { name, outputs: &["handle: Ref(string)"], shape: |_| Ok(vec![PartialShape::vector(2)]), ..queue }
}

const FIFO_QUEUE: Op = Op {
    name: "FIFOQueueV2",
    doc: "A handle to a queue that dequeues elements in the order of arrival.",
    outputs: &["handle: resource"],
    attrs: &[
        "component_types: list(type) >= 1",
        "shapes: list(shape) >= 0 = []",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make fifo),
    ..Op::STATEFUL
};

fn fifo(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let spec = Spec {
        kind: "FIFOQueue",
        types: node.attrs.types("component_types")?,
        shapes: known_shapes(node)?,
        capacity: node.attrs.int("capacity")?,
        min_after_dequeue: 0,
        seeds: (0, 0),
    };
    queue_kernel(node, spec, |_, _| Items::Fifo(Default::default()))
}

/// Elements may differ in size, and are padded in batches.
const PADDING_FIFO_QUEUE: Op = Op {
    name: "PaddingFIFOQueueV2",
    doc: "A handle to a queue in order of arrival, whose elements may differ in the unknown dimensions of `shapes`.",
    kernels: cpu!(make padding_fifo),
    ..FIFO_QUEUE
};

fn padding_fifo(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (types, shapes) = (node.attrs.types("component_types")?, node.attrs.shapes("shapes")?);
    if types.len() != shapes.len() {
        return Err(invalid!(
            "PaddingFIFOQueue needs a shape for each of its {} components, got {}",
            types.len(),
            shapes.len()
        ));
    }
    if let Some(s) = shapes.iter().find(|s| s.rank().is_none()) {
        return Err(invalid!("PaddingFIFOQueue needs shapes of known rank, got {s}"));
    }
    let capacity = node.attrs.int("capacity")?;
    let spec =
        Spec { kind: "PaddingFIFOQueue", types, shapes, capacity, min_after_dequeue: 0, seeds: (0, 0) };
    queue_kernel(node, spec, |_, _| Items::Fifo(Default::default()))
}

const PRIORITY_QUEUE: Op = Op {
    name: "PriorityQueueV2",
    doc: "A handle to a queue that orders its elements by their first component, an int64 that comes before those listed.",
    attrs: &[
        "component_types: list(type) >= 0 = []",
        "shapes: list(shape) >= 0",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    kernels: cpu!(make priority),
    ..FIFO_QUEUE
};

fn priority(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (types, shapes) = (node.attrs.types("component_types")?, known_shapes(node)?);
    let spec = Spec {
        kind: "PriorityQueue",
        types: [vec![DataType::Int64], types].concat(),
        shapes: [vec![PartialShape::scalar()], shapes].concat(),
        capacity: node.attrs.int("capacity")?,
        min_after_dequeue: 0,
        seeds: (0, 0),
    };
    queue_kernel(node, spec, |_, _| Items::ByPriority { held: Default::default(), next: 0 })
}

const RANDOM_SHUFFLE_QUEUE: Op = Op {
    name: "RandomShuffleQueueV2",
    doc: "A handle to a queue that dequeues elements in random order, and keeps min_after_dequeue to choose from.",
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
    kernels: cpu!(make random_shuffle),
    ..FIFO_QUEUE
};

fn random_shuffle(node: &KernelNode) -> Result<Box<dyn Kernel>> {
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
