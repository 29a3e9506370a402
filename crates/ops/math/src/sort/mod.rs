//! The largest and smallest elements of rows, sorted rows.

mod approx_top_k;
mod bounds;
mod in_top_k;
mod isotonic_regression;
mod nearest_neighbors;
mod nth_element;
mod top_k;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &approx_top_k::APPROX_TOP_K,
    &bounds::LOWER_BOUND,
    &bounds::UPPER_BOUND,
    &in_top_k::IN_TOP_K,
    &in_top_k::IN_TOP_K_V2,
    &isotonic_regression::ISOTONIC_REGRESSION,
    &nearest_neighbors::NEAREST_NEIGHBORS,
    &nth_element::NTH_ELEMENT,
    &top_k::TOP_K,
    &top_k::TOP_K_V2,
];
