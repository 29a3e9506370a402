//! Matrices: products, diagonals and bands, decompositions, systems of linear equations.

mod algebra;
mod band;
mod batch_mat_mul;
mod cross;
mod diag;
mod eigenvalues;
mod einsum;
mod factors;
mod least_squares;
mod mat_mul;
mod matrices;
mod matrix_band_part;
mod matrix_diag;
mod matrix_diag_part;
mod matrix_functions;
mod matrix_set_diag;
mod products;
mod solve;
mod sparse_mat_mul;
mod svd;
mod triangular_solve;
mod tridiagonal;

pub use mat_mul::MAT_MUL;

use crate::prelude::*;
use thalweg_math::gemm::ShapeError;

pub static OPS: &[&Op] = join![
    PRODUCTS_AND_DIAGONALS,
    cross::OPS,
    eigenvalues::OPS,
    einsum::OPS,
    factors::OPS,
    least_squares::OPS,
    matrix_functions::OPS,
    solve::OPS,
    sparse_mat_mul::OPS,
    svd::OPS,
    triangular_solve::OPS,
    tridiagonal::OPS,
];

static PRODUCTS_AND_DIAGONALS: &[&Op] = &[
    &batch_mat_mul::BATCH_MAT_MUL,
    &batch_mat_mul::BATCH_MAT_MUL_V2,
    &batch_mat_mul::BATCH_MAT_MUL_V3,
    &diag::DIAG,
    &diag::DIAG_PART,
    &mat_mul::MAT_MUL,
    &matrix_band_part::BATCH_MATRIX_BAND_PART,
    &matrix_band_part::MATRIX_BAND_PART,
    &matrix_diag::BATCH_MATRIX_DIAG,
    &matrix_diag::MATRIX_DIAG,
    &matrix_diag::MATRIX_DIAG_V2,
    &matrix_diag::MATRIX_DIAG_V3,
    &matrix_diag_part::BATCH_MATRIX_DIAG_PART,
    &matrix_diag_part::MATRIX_DIAG_PART,
    &matrix_diag_part::MATRIX_DIAG_PART_V2,
    &matrix_diag_part::MATRIX_DIAG_PART_V3,
    &matrix_set_diag::BATCH_MATRIX_SET_DIAG,
    &matrix_set_diag::MATRIX_SET_DIAG,
    &matrix_set_diag::MATRIX_SET_DIAG_V2,
    &matrix_set_diag::MATRIX_SET_DIAG_V3,
];

pub fn wrong_size(e: ShapeError) -> Error {
    invalid!("{e}")
}
