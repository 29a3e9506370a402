//! Slicing, gather and scatter.

pub mod boxes;
mod dynamic_partition;
mod dynamic_stitch;
pub mod gather;
mod gather_nd;
mod inplace;
mod list_diff;
mod number_hash;
mod one_hot;
mod scatter_nd;
mod slice;
pub mod slice_spec;
mod strided_slice;
mod tensor_scatter;
mod tensor_strided_slice_update;
mod unique;
mod unravel_index;
mod where_;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &dynamic_partition::DYNAMIC_PARTITION,
    &dynamic_stitch::DYNAMIC_STITCH,
    &dynamic_stitch::PARALLEL_DYNAMIC_STITCH,
    &gather::GATHER,
    &gather::GATHER_V2,
    &gather_nd::GATHER_ND,
    &inplace::INPLACE_ADD,
    &inplace::INPLACE_SUB,
    &inplace::INPLACE_UPDATE,
    &list_diff::LIST_DIFF,
    &one_hot::ONE_HOT,
    &scatter_nd::SCATTER_ND,
    &slice::SLICE,
    &strided_slice::STRIDED_SLICE,
    &strided_slice::STRIDED_SLICE_GRAD,
    &tensor_scatter::SCATTER_ND_NON_ALIASING_ADD,
    &tensor_scatter::TENSOR_SCATTER_ADD,
    &tensor_scatter::TENSOR_SCATTER_MAX,
    &tensor_scatter::TENSOR_SCATTER_MIN,
    &tensor_scatter::TENSOR_SCATTER_SUB,
    &tensor_scatter::TENSOR_SCATTER_UPDATE,
    &tensor_strided_slice_update::TENSOR_STRIDED_SLICE_UPDATE,
    &unique::UNIQUE,
    &unique::UNIQUE_V2,
    &unique::UNIQUE_WITH_COUNTS,
    &unique::UNIQUE_WITH_COUNTS_V2,
    &unravel_index::UNRAVEL_INDEX,
    &where_::WHERE,
];
