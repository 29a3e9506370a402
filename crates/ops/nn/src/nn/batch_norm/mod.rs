//! Batch normalisation: `FusedBatchNorm` and its gradient, in their three versions; and their predecessor.

mod fused;
mod fused_grad;
mod global;
mod layout;

pub use fused::FUSED_BATCH_NORM_V3;
pub use layout::Channels;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &global::BATCH_NORM_WITH_GLOBAL_NORMALIZATION,
    &global::BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD,
    &fused::FUSED_BATCH_NORM,
    &fused::FUSED_BATCH_NORM_V2,
    &fused::FUSED_BATCH_NORM_V3,
    &fused_grad::FUSED_BATCH_NORM_GRAD,
    &fused_grad::FUSED_BATCH_NORM_GRAD_V2,
    &fused_grad::FUSED_BATCH_NORM_GRAD_V3,
];
