//! What TensorFlow's optimiser makes of a product and the ops after it: one node with a list of names. A TensorFlow master sends
//! such nodes to its workers, and our own passes make them. A sum or a cut at zero the product does on its way to memory; all else runs
//! as the ops it was made of, one after the other.

mod after;
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
