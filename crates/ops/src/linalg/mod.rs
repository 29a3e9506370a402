//! Products of matrices.

mod batch_mat_mul;
mod mat_mul;
mod products;

pub use mat_mul::MAT_MUL;

use crate::prelude::*;
use thalweg_math::gemm::ShapeError;

pub static OPS: &[&Op] = &[
    &batch_mat_mul::BATCH_MAT_MUL,
    &batch_mat_mul::BATCH_MAT_MUL_V2,
    &batch_mat_mul::BATCH_MAT_MUL_V3,
    &mat_mul::MAT_MUL,
];

pub(crate) fn wrong_size(e: ShapeError) -> Error {
    invalid!("{e}")
}
