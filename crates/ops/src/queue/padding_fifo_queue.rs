//! `PaddingFIFOQueueV2`, `PaddingFIFOQueue`: a queue of elements of differing sizes, which are padded when taken together.

use super::fifo_queue::{FIFO_QUEUE, FIFO_QUEUE_V2};
use super::handle::queue_kernel;
use super::items::Items;
use super::resource::Spec;
use crate::prelude::*;

pub static PADDING_FIFO_QUEUE_V2: Op = Op {
    name: "PaddingFIFOQueueV2",
    doc: "A handle to a queue in order of arrival, whose elements may differ in the dimensions that `shapes` leaves open.",
    kernels: cpu!(make prepare),
    ..FIFO_QUEUE_V2
};

pub static PADDING_FIFO_QUEUE: Op = Op {
    name: "PaddingFIFOQueue",
    doc: PADDING_FIFO_QUEUE_V2.doc,
    kernels: PADDING_FIFO_QUEUE_V2.kernels,
    ..FIFO_QUEUE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
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
