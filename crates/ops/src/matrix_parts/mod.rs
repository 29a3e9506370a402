//! Diagonals and bands of matrices.

mod band;
mod diag;
mod matrix_band_part;
mod matrix_diag;
mod matrix_diag_part;
mod matrix_set_diag;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &diag::DIAG,
    &diag::DIAG_PART,
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
