//! Batch normalisation: `FusedBatchNorm` and its gradient, in their three versions.

mod fused;
mod fused_grad;
mod layout;

pub use fused::FUSED_BATCH_NORM_V3;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &fused::FUSED_BATCH_NORM,
    &fused::FUSED_BATCH_NORM_V2,
    &fused::FUSED_BATCH_NORM_V3,
    &fused_grad::FUSED_BATCH_NORM_GRAD,
    &fused_grad::FUSED_BATCH_NORM_GRAD_V2,
    &fused_grad::FUSED_BATCH_NORM_GRAD_V3,
];
