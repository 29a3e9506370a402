//! Parts of tensors picked by position, and put back.

pub mod boxes;
pub mod gather;
mod gather_nd;
mod one_hot;
mod slice;
pub mod slice_spec;
mod strided_slice;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &gather::GATHER,
    &gather::GATHER_V2,
    &gather_nd::GATHER_ND,
    &one_hot::ONE_HOT,
    &slice::SLICE,
    &strided_slice::STRIDED_SLICE,
    &strided_slice::STRIDED_SLICE_GRAD,
];
