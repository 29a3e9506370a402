//! The largest and smallest elements of rows.

mod in_top_k;
mod nth_element;
mod top_k;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &in_top_k::IN_TOP_K,
    &in_top_k::IN_TOP_K_V2,
    &nth_element::NTH_ELEMENT,
    &top_k::TOP_K,
    &top_k::TOP_K_V2,
];
