//! Matrices: products, diagonals and bands.

mod band;
mod batch_mat_mul;
mod diag;
mod mat_mul;
mod matrix_band_part;
mod matrix_diag;
mod matrix_diag_part;
mod matrix_set_diag;
mod products;

pub use mat_mul::MAT_MUL;

use crate::prelude::*;
use thalweg_math::gemm::ShapeError;

pub static OPS: &[&Op] = &[
    &batch_mat_mul::BATCH_MAT_MUL,
    &batch_mat_mul::BATCH_MAT_MUL_V2,
    &batch_mat_mul::BATCH_MAT_MUL_V3,
    &diag::DIAG,
    &diag::DIAG_PART,
    &mat_mul::MAT_MUL,
    &matrix_band_part::MATRIX_BAND_PART,
    &matrix_diag::MATRIX_DIAG,
    &matrix_diag::MATRIX_DIAG_V2,
    &matrix_diag::MATRIX_DIAG_V3,
    &matrix_diag_part::MATRIX_DIAG_PART,
    &matrix_diag_part::MATRIX_DIAG_PART_V2,
    &matrix_diag_part::MATRIX_DIAG_PART_V3,
    &matrix_set_diag::MATRIX_SET_DIAG,
    &matrix_set_diag::MATRIX_SET_DIAG_V2,
    &matrix_set_diag::MATRIX_SET_DIAG_V3,
];

pub fn wrong_size(e: ShapeError) -> Error {
    invalid!("{e}")
}
