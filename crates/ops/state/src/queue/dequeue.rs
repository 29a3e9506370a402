//! `QueueDequeueV2`, `QueueDequeueManyV2`, `QueueDequeueUpToV2` and their older forms: taking from a queue.

use super::enqueue::no_timeout;
use super::items::Tuple;
use super::resource::{Queue, Spec};
use crate::moving::Block;
use crate::named::resource_of;
use crate::prelude::*;
use crate::rows::stack;
use thalweg_math::parallel::Serial;

pub static QUEUE_DEQUEUE_V2: Op = Op {
    name: "QueueDequeueV2",
    doc: "Takes one element from the queue, waiting while it is empty; OutOfRange once it is closed and empty.",
    inputs: &["handle: resource"],
    outputs: &["components: component_types"],
    attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
    kernels: cpu!(async one),
    ..Op::STATEFUL
};

pub static QUEUE_DEQUEUE: Op =
    Op { name: "QueueDequeue", inputs: &["handle: Ref(string)"], ..QUEUE_DEQUEUE_V2 };

pub static QUEUE_DEQUEUE_MANY_V2: Op = Op {
    name: "QueueDequeueManyV2",
    doc: "Takes n elements from the queue as one batch; OutOfRange once it is closed and has fewer.",
    inputs: &["handle: resource", "n: int32"],
    shape: |c| {
        c.scalar(1)?;
        match c.ints(1).as_deref() {
            Some([n]) if *n < 0 => Err(invalid!("Input 'n' must be >= 0, but is {n}")),
            _ => shape_call::unknown(c),
        }
    },
    kernels: cpu!(async many),
    ..QUEUE_DEQUEUE_V2
};

pub static QUEUE_DEQUEUE_MANY: Op =
    Op { name: "QueueDequeueMany", inputs: &["handle: Ref(string)", "n: int32"], ..QUEUE_DEQUEUE_MANY_V2 };

pub static QUEUE_DEQUEUE_UP_TO_V2: Op = Op {
    name: "QueueDequeueUpToV2",
    doc: "Takes n elements from the queue as one batch, or what is left once it is closed.",
    kernels: cpu!(async up_to),
    ..QUEUE_DEQUEUE_MANY_V2
};

pub static QUEUE_DEQUEUE_UP_TO: Op =
    Op { name: "QueueDequeueUpTo", inputs: &["handle: Ref(string)", "n: int32"], ..QUEUE_DEQUEUE_UP_TO_V2 };

#[derive(Clone, Copy, PartialEq)]
enum Dequeue {
    One,
    Many,
    UpTo,
}

fn one(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    no_timeout(node)?;
    Ok(Arc::new(Dequeue::One))
}

fn many(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    no_timeout(node)?;
    Ok(Arc::new(Dequeue::Many))
}

fn up_to(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    no_timeout(node)?;
    Ok(Arc::new(Dequeue::UpTo))
}

impl AsyncKernel for Dequeue {
    fn start(&self, call: AsyncCall, done: Done) {
        let kind = *self;
        let (queue, n) = match kind.request(&call) {
            Ok(ready) => ready,
            Err(e) => return done(Err(e)),
        };
        if n == 0 && kind != Dequeue::One {
            return done(batch(&queue.spec, &[]).map(outputs));
        }
        let owner = queue.clone();
        let answer = move |r: Result<Vec<Tuple>>| {
            done(
                r.and_then(|mut tuples| match kind {
                    Dequeue::One => tuples.pop().ok_or_else(|| internal("the queue gave no element")),
                    _ => batch(&owner.spec, &tuples),
                })
                .map(outputs),
            )
        };
        queue.dequeue(n, kind == Dequeue::UpTo, &call.step.cancel, Box::new(answer));
    }
}

impl Dequeue {
    fn request(self, call: &AsyncCall) -> Result<(Arc<Queue>, usize)> {
        let queue: Arc<Queue> = resource_of(&call.tensor(0)?, &call.step)?;
        let types: Vec<DataType> = call.node.outputs.iter().map(|p| p.dtype).collect();
        if types != queue.spec.types {
            return Err(invalid!(
                "Signature mismatch: {} '{}' holds {:?}, asked for {types:?}",
                queue.spec.kind,
                queue.name,
                queue.spec.types
            ));
        }
        if self == Dequeue::One {
            return Ok((queue, 1));
        }
        let n = call.tensor(1)?;
        let n = match (n.rank(), n.to_i64s()?.as_slice()) {
            (0, [n]) => *n,
            _ => return Err(invalid!("n must be a scalar, got shape {}", n.shape())),
        };
        let n = usize::try_from(n).map_err(|_| invalid!("DequeueManyOp requested {n} < 0 elements"))?;
        if queue.spec.shapes.is_empty() {
            return Err(invalid!(
                "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
                queue.spec.kind
            ));
        }
        Ok((queue, n))
    }
}

/// Elements as one tensor per component, smaller ones padded with zeros where the queue's shapes leave sizes open.
fn batch(spec: &Spec, tuples: &[Tuple]) -> Result<Vec<Tensor>> {
    let component = |(i, (dtype, shape)): (usize, (&DataType, &PartialShape))| {
        let rows = reserve::collect(tuples.iter().filter_map(|t| t.get(i).cloned()))?;
        match shape.to_shape() {
            Some(each) => stack(*dtype, &each, &rows),
            None => padded(*dtype, shape, &rows),
        }
    };
    spec.types.iter().zip(&spec.shapes).enumerate().map(component).collect()
}

fn padded(dtype: DataType, shape: &PartialShape, rows: &[Tensor]) -> Result<Tensor> {
    let mut largest: Vec<usize> = shape.dims().unwrap_or(&[]).iter().map(|d| (*d).max(0) as usize).collect();
    for row in rows {
        largest.iter_mut().zip(row.shape().iter()).for_each(|(l, d)| *l = (*l).max(*d));
    }
    let each = Shape::new(&largest)?;
    if rows.iter().all(|r| *r.shape() == each) {
        return stack(dtype, &each, rows);
    }
    let mut all = Tensor::zeros(dtype, Shape::new(&[&[rows.len()], &largest[..]].concat())?)?;
    for (i, row) in rows.iter().enumerate() {
        Block::at(0, i * each.elements())
            .part(row.shape(), row.shape(), &each)
            .copy(&Serial, row, &mut all)?;
    }
    Ok(all)
}
