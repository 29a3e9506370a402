//! Ragged tensors: values, and for each ragged dimension the splits between its rows.

mod composite;
mod ragged_cross;
mod ragged_fill_empty_rows;
mod ragged_gather;
mod splits;
mod to_sparse;
mod to_tensor;
mod variant;

use crate::join;
use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    composite::OPS,
    ragged_cross::OPS,
    ragged_fill_empty_rows::OPS,
    ragged_gather::OPS,
    to_sparse::OPS,
    to_tensor::OPS,
    variant::OPS,
];
