//! A product fused with the ops that follow it, named in attr `fused_ops`. A TensorFlow master sends such nodes to its workers, and our
//! own passes make them. A bias, a sum or a ReLU is applied in gemm's epilogue; all else runs op by op.

mod epilogue;
mod fused_conv2d;
mod fused_depthwise_conv2d;
mod fused_mat_mul;
mod stages;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &fused_conv2d::FUSED_CONV2D,
    &fused_depthwise_conv2d::FUSED_DEPTHWISE_CONV2D_NATIVE,
    &fused_mat_mul::FUSED_MAT_MUL,
];
