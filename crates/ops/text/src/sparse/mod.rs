//! Sparse tensors (COO) as three dense ones: indices, values and shape.

mod coordinates;
mod edit_distance;
mod sparse_cross;
mod sparse_dense_cwise;
mod sparse_fill_empty_rows;
mod sparse_reshape;
mod sparse_sparse_maximum;
mod sparse_split;
mod sparse_tensor_dense_mat_mul;
mod sparse_to_dense;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &edit_distance::EDIT_DISTANCE,
    &sparse_cross::SPARSE_CROSS,
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
];
