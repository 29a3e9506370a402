//! `SparseAccumulatorTakeGradient`: waiting for enough gradients of rows, and taking their mean.

use super::take_gradient::{ACCUMULATOR_TAKE_GRADIENT, prepare_sparse};
use crate::prelude::*;

pub static SPARSE_ACCUMULATOR_TAKE_GRADIENT: Op = Op {
    name: "SparseAccumulatorTakeGradient",
    doc: "The mean (or sum) of the rows, each over the gradients that had it, once there are num_required gradients.",
    outputs: &["indices: int64", "values: dtype", "shape: int64"],
    kernels: cpu!(async prepare_sparse),
    ..ACCUMULATOR_TAKE_GRADIENT
};
