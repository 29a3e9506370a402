//! `ConditionalAccumulator`, `ResourceConditionalAccumulator`, `SparseConditionalAccumulator`: a sum of dense or sparse gradients,
//! taken once enough have been applied.

use super::resource::accumulator_kernel;
use crate::prelude::*;

pub static CONDITIONAL_ACCUMULATOR: Op = Op {
    name: "ConditionalAccumulator",
    doc: "A handle to an accumulator of gradients.",
    outputs: &["handle: Ref(string)"],
    attrs: &[
        "dtype: numbertype",
        "shape: shape",
        "container: string = ''",
        "shared_name: string = ''",
        "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
    ],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    kernels: cpu!(make prepare: dtype in f16, f32, f64),
    ..Op::STATEFUL
};

pub static RESOURCE_CONDITIONAL_ACCUMULATOR: Op = Op {
    name: "ResourceConditionalAccumulator",
    outputs: &["handle: resource"],
    shape: shape_call::scalar,
    ..CONDITIONAL_ACCUMULATOR
};

pub static SPARSE_CONDITIONAL_ACCUMULATOR: Op = Op {
    name: "SparseConditionalAccumulator",
    doc: "A handle to an accumulator of gradients of some rows.",
    kernels: cpu!(make prepare_sparse: dtype in f16, f32, f64),
    ..CONDITIONAL_ACCUMULATOR
};

fn prepare<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    accumulator_kernel::<T>(node, false)
}

fn prepare_sparse<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    accumulator_kernel::<T>(node, true)
}
