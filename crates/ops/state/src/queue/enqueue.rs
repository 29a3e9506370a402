//! `QueueEnqueueV2`, `QueueEnqueueManyV2` and their older forms: adding to a queue.

use super::items::Tuple;
use super::resource::Queue;
use crate::named::resource_of;
use crate::prelude::*;
use crate::rows::row;
use std::collections::VecDeque;

pub static QUEUE_ENQUEUE_V2: Op = Op {
    name: "QueueEnqueueV2",
    doc: "Adds one element to the queue, waiting while it is full.",
    inputs: &["handle: resource", "components: Tcomponents"],
    attrs: &["Tcomponents: list(type) >= 1", "timeout_ms: int = -1"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(async one),
    ..Op::STATEFUL
};

pub static QUEUE_ENQUEUE: Op = Op {
    name: "QueueEnqueue",
    inputs: &["handle: Ref(string)", "components: Tcomponents"],
    ..QUEUE_ENQUEUE_V2
};

pub static QUEUE_ENQUEUE_MANY_V2: Op = Op {
    name: "QueueEnqueueManyV2",
    doc: "Adds the rows of the components to the queue, one element each, waiting while it is full.",
    kernels: cpu!(async many),
    ..QUEUE_ENQUEUE_V2
};

pub static QUEUE_ENQUEUE_MANY: Op = Op {
    name: "QueueEnqueueMany",
    inputs: &["handle: Ref(string)", "components: Tcomponents"],
    ..QUEUE_ENQUEUE_MANY_V2
};

struct Enqueue {
    /// How the inputs become elements.
    elements: fn(&Queue, Tuple) -> Result<VecDeque<Tuple>>,
}

fn one(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    no_timeout(node)?;
    Ok(Arc::new(Enqueue { elements: |queue, tuple| check_element(queue, &tuple).map(|()| [tuple].into()) }))
}

fn many(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    no_timeout(node)?;
    Ok(Arc::new(Enqueue { elements: split_rows }))
}

impl AsyncKernel for Enqueue {
    fn start(&self, call: AsyncCall, done: Done) {
        let ready = call.tensor(0).and_then(|handle| {
            let queue: Arc<Queue> = resource_of(&handle, &call.step)?;
            let elements = (self.elements)(&queue, call.tensors(1)?)?;
            Ok((queue, elements))
        });
        match ready {
            Ok((queue, elements)) => {
                queue.enqueue(elements, &call.step.cancel, Box::new(|r| done(r.map(|_| Outputs::new()))));
            }
            Err(e) => done(Err(e)),
        }
    }
}

pub fn no_timeout(node: &KernelNode) -> Result<()> {
    match node.attrs.int("timeout_ms")? {
        -1 => Ok(()),
        other => Err(invalid!("Timeout not supported yet: timeout_ms must be -1, got {other}")),
    }
}

fn check_element(queue: &Queue, tuple: &Tuple) -> Result<()> {
    check_types(queue, tuple)?;
    for (i, (t, shape)) in tuple.iter().zip(&queue.spec.shapes).enumerate() {
        if !shape.allows(t.shape()) {
            return Err(invalid!(
                "Shape mismatch in tuple component {i}. Expected {shape}, got {}",
                t.shape()
            ));
        }
    }
    Ok(())
}

fn check_types(queue: &Queue, tuple: &Tuple) -> Result<()> {
    let types: Vec<DataType> = tuple.iter().map(Tensor::dtype).collect();
    if types != queue.spec.types {
        return Err(invalid!(
            "Signature mismatch: {} '{}' holds {:?}, got {types:?}",
            queue.spec.kind,
            queue.name,
            queue.spec.types
        ));
    }
    Ok(())
}

fn split_rows(queue: &Queue, batch: Tuple) -> Result<VecDeque<Tuple>> {
    check_types(queue, &batch)?;
    let mut size = None;
    for (i, t) in batch.iter().enumerate() {
        let n = *t.shape().first().ok_or_else(|| {
            invalid!("Shape mismatch in tuple component {i}. Expected a batch of elements, got []")
        })?;
        let size = *size.get_or_insert(n);
        if n != size {
            return Err(invalid!(
                "All input tensors must have the same size in the 0th dimension. Component {i} has {n}, and should have {size}"
            ));
        }
        if let Some(shape) = queue.spec.shapes.get(i) {
            let expected = PartialShape::vector(n as i64).concat(shape);
            if !expected.allows(t.shape()) {
                return Err(invalid!(
                    "Shape mismatch in tuple component {i}. Expected {expected}, got {}",
                    t.shape()
                ));
            }
        }
    }
    let element = |i| batch.iter().map(|t| row(t, i)).collect::<Result<Tuple>>();
    Ok(reserve::try_collect((0..size.unwrap_or(0)).map(element))?.into())
}
