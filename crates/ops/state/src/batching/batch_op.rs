//! `Batch`: the inputs of several steps concatenated; one of the steps gets the batch, the others nothing.

use super::queue::{Batches, Limits, Task, concat_inputs};
use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;

pub static BATCH: Op = Op {
    name: "Batch",
    doc: "Concatenates the inputs of several steps. The last of them gets the batch and which rows are whose; the others get tensors without rows.",
    inputs: &["in_tensors: T"],
    outputs: &["batched_tensors: T", "batch_index: int64", "id: int64"],
    attrs: &[
        "num_batch_threads: int",
        "max_batch_size: int",
        "max_enqueued_batches: int = 10",
        "batch_timeout_micros: int",
        "allowed_batch_sizes: list(int) = []",
        "grad_timeout_micros: int",
        "container: string = ''",
        "shared_name: string = ''",
        "batching_queue: string = ''",
        "T: list(type) >= 1",
    ],
    shape: |c| {
        let mut shapes = Vec::with_capacity(c.outputs);
        for i in 0..c.inputs.len() {
            let shape = c.rank_at_least(i, 1)?;
            let dims = shape.dims().map(|d| std::iter::once(-1).chain(d.iter().skip(1).copied()).collect());
            shapes.push(dims.unwrap_or_else(PartialShape::unknown));
        }
        shapes.extend([PartialShape::from_iter([-1i64, 3]), PartialShape::scalar()]);
        Ok(shapes)
    },
    grad: Rule(|g| {
        let n = g.x.len();
        let (Some(index), Some(id)) = (g.y.get(n).copied(), g.y.get(n + 1).copied()) else {
            return Err(internal("a Batch without an index"));
        };
        let timeout = [("timeout_micros", Attr::Int(g.attrs.int("grad_timeout_micros")?))];
        let mut grads = Vec::with_capacity(n);
        for i in 0..n {
            let dy = g.dy_or_zeros(i)?;
            grads.push(g.op("Unbatch", [dy.into(), index.into(), id.into()], &timeout)?.into());
        }
        Ok(grads)
    }),
    kernels: cpu!(async prepare),
    // Steps meet here: two nodes must not be merged.
    stateful: true,
    ..Op::PURE
};

struct Batch {
    cached: CachedResource<Batches>,
    limits: Limits,
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let mut key = ResourceKey::of(node)?;
    key.name.push_str(node.attrs.str("batching_queue")?);
    Ok(Arc::new(Batch { cached: CachedResource::new(key), limits: Limits::of(node)? }))
}

impl AsyncKernel for Batch {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self
            .cached
            .get(&call.step.device.resources, |_| Ok(Batches::new(self.limits.clone(), run)))
            .and_then(|batches| Ok((batches, call.tensors(0)?)));
        match found {
            Ok((batches, inputs)) => batches.submit(inputs, call, done),
            Err(e) => done(Err(e)),
        }
    }
}

fn run(tasks: Vec<Arc<Task>>, padded: usize, over: Box<dyn FnOnce() + Send>) {
    over();
    let Some((last, others)) = tasks.split_last() else { return };
    for task in others {
        task.finish(nothing(task));
    }
    last.finish(batch(&tasks, last, padded));
}

fn batch(tasks: &[Arc<Task>], last: &Task, padded: usize) -> Result<Outputs> {
    let mut all = reserve::try_collect((0..last.inputs.len()).map(|i| concat_inputs(tasks, i, padded)))?;
    let (mut index, mut at) = (reserve::with_capacity(tasks.len().saturating_mul(3))?, 0i64);
    for task in tasks {
        let end = at.saturating_add(task.rows as i64);
        index.extend([task.id, at, end]);
        at = end;
    }
    all.push(Tensor::from_slice(Shape::new(&[tasks.len(), 3])?, &index)?);
    all.push(Tensor::scalar(last.id));
    Ok(outputs(all))
}

/// Tensors without rows.
fn nothing(task: &Task) -> Result<Outputs> {
    let mut all = reserve::try_collect(task.inputs.iter().map(|t| t.rows(0, 0)))?;
    all.push(Tensor::zeros(DataType::Int64, Shape::new(&[0, 3])?)?);
    all.push(Tensor::scalar(task.id));
    Ok(outputs(all))
}
