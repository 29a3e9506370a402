//! Sparse tensors (COO) as three dense ones: indices, values and shape.

mod coordinates;
mod counts;
pub mod cross;
mod edit_distance;
pub mod entries;
mod minibatch;
mod serialized;
mod sparse_add;
mod sparse_concat;
mod sparse_cross;
mod sparse_dense_cwise;
mod sparse_fill_empty_rows;
mod sparse_reduce;
mod sparse_reorder;
mod sparse_reshape;
mod sparse_slice;
mod sparse_softmax;
mod sparse_sparse_maximum;
mod sparse_split;
mod sparse_tensor_dense_mat_mul;
mod sparse_to_dense;
mod tensors_map;

use crate::join;
use thalweg_core::op::Op;

pub use coordinates::{check_sparse, example, matrix};
pub use sparse_fill_empty_rows::fill_gradients;

pub static OPS: &[&Op] = join![
    &[
        &edit_distance::EDIT_DISTANCE,
        &sparse_dense_cwise::SPARSE_DENSE_CWISE_ADD,
        &sparse_dense_cwise::SPARSE_DENSE_CWISE_DIV,
        &sparse_dense_cwise::SPARSE_DENSE_CWISE_MUL,
        &sparse_fill_empty_rows::SPARSE_FILL_EMPTY_ROWS,
        &sparse_fill_empty_rows::SPARSE_FILL_EMPTY_ROWS_GRAD,
        &sparse_reshape::SPARSE_RESHAPE,
        &sparse_sparse_maximum::SPARSE_SPARSE_MAXIMUM,
        &sparse_sparse_maximum::SPARSE_SPARSE_MINIMUM,
        &sparse_split::SPARSE_SPLIT,
        &sparse_tensor_dense_mat_mul::SPARSE_TENSOR_DENSE_MAT_MUL,
        &sparse_to_dense::SPARSE_TO_DENSE,
    ],
    counts::OPS,
    serialized::OPS,
    sparse_add::OPS,
    sparse_concat::OPS,
    sparse_cross::OPS,
    sparse_reduce::OPS,
    sparse_reorder::OPS,
    sparse_slice::OPS,
    sparse_softmax::OPS,
    tensors_map::OPS,
];
