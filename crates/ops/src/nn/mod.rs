//! Neural network ops: activations, losses, biases, rankings.

pub mod batch_norm;
mod bias_add;
mod bias_add_grad;
mod channels;
pub mod conv;
mod elu;
mod elu_grad;
pub mod fused;
mod in_top_k;
mod leaky_relu;
mod logits;
mod lrn;
mod nth_element;
mod pool;
mod relu;
mod relu6;
mod relu6_grad;
mod relu_grad;
mod selu;
mod selu_grad;
mod softmax;
mod softmax_cross_entropy_with_logits;
mod softplus;
mod softplus_grad;
mod softsign;
mod softsign_grad;
mod sparse_softmax_cross_entropy_with_logits;
mod top_k;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![batch_norm::OPS, conv::OPS, fused::OPS, pool::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &bias_add::BIAS_ADD,
    &bias_add::BIAS_ADD_V1,
    &bias_add_grad::BIAS_ADD_GRAD,
    &elu::ELU,
    &elu_grad::ELU_GRAD,
    &in_top_k::IN_TOP_K,
    &in_top_k::IN_TOP_K_V2,
    &leaky_relu::LEAKY_RELU,
    &leaky_relu::LEAKY_RELU_GRAD,
    &lrn::LRN,
    &lrn::LRN_GRAD,
    &nth_element::NTH_ELEMENT,
    &relu::RELU,
    &relu6::RELU6,
    &relu6_grad::RELU6_GRAD,
    &relu_grad::RELU_GRAD,
    &selu::SELU,
    &selu_grad::SELU_GRAD,
    &softmax::SOFTMAX,
    &softmax::LOG_SOFTMAX,
    &softmax_cross_entropy_with_logits::SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
    &softplus::SOFTPLUS,
    &softplus_grad::SOFTPLUS_GRAD,
    &softsign::SOFTSIGN,
    &softsign_grad::SOFTSIGN_GRAD,
    &sparse_softmax_cross_entropy_with_logits::SPARSE_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
    &top_k::TOP_K,
    &top_k::TOP_K_V2,
];
