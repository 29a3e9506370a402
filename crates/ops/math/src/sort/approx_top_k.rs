//! `ApproxTopK`: the largest elements of each row; exact here, as on TensorFlow's CPU.

use super::top_k::{TOP_K, prepare};
use crate::prelude::*;

pub static APPROX_TOP_K: Op = Op {
    name: "ApproxTopK",
    doc: "The k largest elements along the last dimension, descending, and their indices: all of them, though fewer would do.",
    inputs: &["input: T"],
    attrs: &[
        "k: int >= 0",
        "reduction_dimension: int = -1",
        "recall_target: float = 0.95",
        "is_max_k: bool = true",
        "reduction_input_size_override: int = -1",
        "aggregate_to_topk: bool = true",
        "T: {half, bfloat16, float}",
    ],
    shape: |c| match (c.attrs.int("reduction_dimension")?, c.attrs.bool("is_max_k")?) {
        (-1, true) => (TOP_K.shape)(c),
        _ => c.all(PartialShape::unknown()),
    },
    grad: Missing,
    kernels: cpu!(make largest: T in f32, f16, bf16),
    ..TOP_K
};

fn largest<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (axis, largest) = (node.attrs.int("reduction_dimension")?, node.attrs.bool("is_max_k")?);
    if axis != -1 || !largest {
        return Err(not_found(format_args!(
            "No registered 'ApproxTopK' OpKernel for CPU devices with reduction_dimension={axis}, is_max_k={largest}: only -1 and true"
        )));
    }
    prepare::<T>(node)
}
