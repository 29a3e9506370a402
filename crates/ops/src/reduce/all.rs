//! `All` and `Any` over axes.

use super::axes::{reduced, reduction};
use crate::prelude::*;
use thalweg_math::reduce;

pub static ALL: Op = Op {
    name: "All",
    doc: "Whether all elements over the axes named are true.",
    inputs: &["input: bool", "reduction_indices: Tidx"],
    outputs: &["output: bool"],
    attrs: &["keep_dims: bool = false", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Stops,
    kernels: cpu!(make prepare_all),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[2, 3]), int_vector(&[1])]),
            Case::new(vec![r.bools(&[2, 3]), int_vector(&[0, 1])]).attr("keep_dims", true),
            Case::new(vec![r.bools(&[0, 3]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

pub static ANY: Op = Op {
    name: "Any",
    doc: "Whether any element over the axes named is true.",
    kernels: cpu!(make prepare_any),
    ..ALL
};

fn prepare_all(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<bool, _>(node, |_| reduce::All)
}

fn prepare_any(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<bool, _>(node, |_| reduce::Any)
}
