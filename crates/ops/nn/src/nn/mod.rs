//! Neural network ops: activations, losses, biases, batch normalisation, convolutions, pooling.

mod activations;
pub mod batch_norm;
mod bias_add;
mod bias_add_grad;
mod channels;
pub mod conv;
mod ctc;
mod dilation2d;
mod extract_volume_patches;
pub mod fused;
mod logits;
mod lrn;
pub mod pool;
mod recurrent;
mod softmax;
mod softmax_cross_entropy_with_logits;
mod sparse_softmax_cross_entropy_with_logits;
mod volumes;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    activations::OPS,
    batch_norm::OPS,
    conv::OPS,
    ctc::OPS,
    dilation2d::OPS,
    fused::OPS,
    pool::OPS,
    recurrent::OPS,
    SINGLE
];

static SINGLE: &[&Op] = &[
    &bias_add::BIAS_ADD,
    &bias_add::BIAS_ADD_V1,
    &bias_add_grad::BIAS_ADD_GRAD,
    &extract_volume_patches::EXTRACT_VOLUME_PATCHES,
    &lrn::LRN,
    &lrn::LRN_GRAD,
    &softmax::SOFTMAX,
    &softmax::LOG_SOFTMAX,
    &softmax_cross_entropy_with_logits::SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
    &sparse_softmax_cross_entropy_with_logits::SPARSE_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS,
];
