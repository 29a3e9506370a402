//! `SparseConditionalAccumulator`: as `ConditionalAccumulator`, of gradients that have only some rows.

use super::conditional_accumulator::CONDITIONAL_ACCUMULATOR;
use super::resource::accumulator_kernel;
use crate::prelude::*;

pub static SPARSE_CONDITIONAL_ACCUMULATOR: Op = Op {
    name: "SparseConditionalAccumulator",
    doc: "A handle to an accumulator of gradients of some rows.",
    kernels: cpu!(make prepare: dtype in f16, f32, f64),
    ..CONDITIONAL_ACCUMULATOR
};

fn prepare<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    accumulator_kernel::<T>(node, true)
}
