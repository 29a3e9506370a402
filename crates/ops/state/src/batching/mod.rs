//! Batches of the inputs of several steps: calls of a function on them (`BatchFunction`), or the batch itself (`Batch`, `Unbatch`).

mod batch_function;
mod batch_op;
mod queue;
mod unbatch;

use thalweg_core::op::Op;

pub static OPS: &[&Op] =
    &[&batch_function::BATCH_FUNCTION, &batch_op::BATCH, &unbatch::UNBATCH, &unbatch::UNBATCH_GRAD];

#[cfg(test)]
mod tests;
