//! `BatchFunction`: calls of a function, collected into batches.

use super::queue::{Batches, Limits, Task, concat_inputs, step_of};
use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;

pub static BATCH_FUNCTION: Op = Op {
    name: "BatchFunction",
    doc: "Calls `f` on the rows of several calls of this op together, and gives each its own rows of the results.",
    inputs: &["in_tensors: Tin", "captured_tensors: Tcaptured"],
    outputs: &["out_tensors: Tout"],
    attrs: &[
        "f: func",
        "num_batch_threads: int",
        "max_batch_size: int",
        "batch_timeout_micros: int",
        "max_enqueued_batches: int = 10",
        "allowed_batch_sizes: list(int) = []",
        "container: string = ''",
        "shared_name: string = ''",
        "batching_queue: string = ''",
        "low_priority_max_batch_size: int = 0",
        "low_priority_batch_timeout_micros: int = 0",
        "low_priority_allowed_batch_sizes: list(int) = []",
        "low_priority_max_enqueued_batches: int = 0",
        "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', 'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', 'priority_merge'} = 'low_priority_padding_with_max_batch_size'",
        "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'",
        "Tin: list(type) >= 1",
        "Tcaptured: list(type) >= 0",
        "Tout: list(type) >= 1",
        "enable_large_batch_splitting: bool = false",
    ],
    kernels: cpu!(async prepare),
    // Calls share a batch: two nodes must not be merged.
    stateful: true,
    ..Op::PURE
};

struct BatchFunction {
    cached: CachedResource<Batches>,
    limits: Limits,
    inputs: usize,
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let mut key = ResourceKey::of(node)?;
    key.name.push_str(node.attrs.str("batching_queue")?);
    let inputs = node.attrs.types("Tin")?.len();
    Ok(Arc::new(BatchFunction { cached: CachedResource::new(key), limits: Limits::of(node)?, inputs }))
}

impl AsyncKernel for BatchFunction {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self
            .cached
            .get(&call.step.device.resources, |_| Ok(Batches::new(self.limits.clone(), run)))
            .and_then(|batches| Ok((batches, call.tensors(0)?)));
        match found {
            Ok((batches, mut inputs)) => {
                inputs.truncate(self.inputs);
                batches.submit(inputs, call, done);
            }
            Err(e) => done(Err(e)),
        }
    }
}

/// Calls the function on the rows of all tasks.
fn run(tasks: Vec<Arc<Task>>, padded: usize, over: Box<dyn FnOnce() + Send>) {
    let (f, args, step) = match arguments(&tasks, padded) {
        Ok(found) => found,
        Err(e) => {
            over();
            return tasks.iter().for_each(|t| t.finish(Err(e.clone())));
        }
    };
    step.call(
        &f,
        args,
        Box::new(move |results| {
            over();
            match results.and_then(|r| split(&tasks, padded, r)) {
                Ok(parts) => tasks.iter().zip(parts).for_each(|(t, part)| t.finish(Ok(part))),
                Err(e) => tasks.iter().for_each(|t| t.finish(Err(e.clone()))),
            }
        }),
    );
}

type Arguments = (Func, Vec<Tensor>, Arc<thalweg_core::step::StepContext>);

fn arguments(tasks: &[Arc<Task>], padded: usize) -> Result<Arguments> {
    let last = tasks.last().ok_or_else(|| internal("an empty batch"))?;
    let n = last.inputs.len();
    let mut args = reserve::try_collect((0..n).map(|i| concat_inputs(tasks, i, padded)))?;
    // What the function captures is that of one call: all have the same.
    for t in last.call.tensors(n)? {
        reserve::push(&mut args, t)?;
    }
    Ok((last.call.node.attrs.func("f")?.clone(), args, step_of(tasks)?))
}

/// The rows of each task in the results.
fn split(tasks: &[Arc<Task>], padded: usize, results: Vec<Tensor>) -> Result<Vec<Outputs>> {
    let rows = tasks.iter().map(|t| t.rows).fold(0, usize::saturating_add);
    for t in &results {
        let len = t.shape().first().copied();
        if len.is_none() {
            return Err(failed_precondition("Batched output tensor must have at least one dimension"));
        }
        if len != Some(padded) && len != Some(rows) {
            return Err(failed_precondition(format_args!(
                "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors: {} and {rows}",
                t.shape()
            )));
        }
    }
    let mut at = 0;
    let mut parts = reserve::with_capacity(tasks.len())?;
    for task in tasks {
        let part = reserve::try_collect(results.iter().map(|t| t.rows(at, task.rows)))?;
        parts.push(outputs(part));
        at += task.rows;
    }
    Ok(parts)
}
