//! `PriorityQueueV2`, `PriorityQueue`: a queue that gives out the element of the least priority number first.

use super::fifo_queue::{FIFO_QUEUE, FIFO_QUEUE_V2};
use super::handle::{known_shapes, queue_kernel};
use super::items::Items;
use super::resource::Spec;
use crate::prelude::*;

pub static PRIORITY_QUEUE_V2: Op = Op {
    name: "PriorityQueueV2",
    doc: "A handle to a queue that orders its elements by their first component, an int64 that comes before those listed.",
    attrs: &[
        "component_types: list(type) >= 0 = []",
        "shapes: list(shape) >= 0",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    kernels: cpu!(make prepare),
    ..FIFO_QUEUE_V2
};

pub static PRIORITY_QUEUE: Op = Op {
    name: "PriorityQueue",
    doc: PRIORITY_QUEUE_V2.doc,
    attrs: PRIORITY_QUEUE_V2.attrs,
    kernels: PRIORITY_QUEUE_V2.kernels,
    ..FIFO_QUEUE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
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
