//! `FIFOQueueV2`, `FIFOQueue`: a queue that gives elements out in the order they came.

use super::handle::{known_shapes, queue_kernel};
use super::items::Items;
use super::resource::Spec;
use crate::prelude::*;

pub static FIFO_QUEUE_V2: Op = Op {
    name: "FIFOQueueV2",
    doc: "A handle to a queue that gives elements out in the order they came.",
    outputs: &["handle: resource"],
    attrs: &[
        "component_types: list(type) >= 1",
        "shapes: list(shape) >= 0 = []",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

pub static FIFO_QUEUE: Op = Op {
    name: "FIFOQueue",
    outputs: &["handle: Ref(string)"],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    ..FIFO_QUEUE_V2
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
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
