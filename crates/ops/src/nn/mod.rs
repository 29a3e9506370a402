//! Neural network ops: activations, losses, biases, rankings.

mod activations;
pub mod batch_norm;
mod bias_add;
mod bias_add_grad;
mod channels;
pub mod conv;
pub mod fused;
mod in_top_k;
mod logits;
mod lrn;
mod nth_element;
mod pool;
mod softmax;
mod softmax_cross_entropy_with_logits;
mod sparse_softmax_cross_entropy_with_logits;
mod top_k;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![activations::OPS, batch_norm::OPS, conv::OPS, fused::OPS, pool::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &bias_add::BIAS_ADD,
    &bias_add::BIAS_ADD_V1,
    &bias_add_grad::BIAS_ADD_GRAD,
    &in_top_k::IN_TOP_K,
    &in_top_k::IN_TOP_K_V2,
    &lrn::LRN,
    &lrn::LRN_GRAD,
    &nth_element::NTH_ELEMENT,
    &softmax::SOFTMAX,
    &softmax::LOG_SOFTMAX,
    &softmax_cross_entropy_with_logits::SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
    &sparse_softmax_cross_entropy_with_logits::SPARSE_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
    &top_k::TOP_K,
    &top_k::TOP_K_V2,
];
