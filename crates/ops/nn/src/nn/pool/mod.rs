//! Pooling: the maximum or the average under a window, with gradients.

mod avg_pool;
mod fractional_pool;
mod max_pool;
mod max_pool_grad;
mod max_pool_with_argmax;
pub mod parameters;
mod pool3d;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &avg_pool::AVG_POOL,
    &avg_pool::AVG_POOL_GRAD,
    &fractional_pool::FRACTIONAL_AVG_POOL,
    &fractional_pool::FRACTIONAL_AVG_POOL_GRAD,
    &fractional_pool::FRACTIONAL_MAX_POOL,
    &fractional_pool::FRACTIONAL_MAX_POOL_GRAD,
    &pool3d::AVG_POOL3D,
    &pool3d::AVG_POOL3D_GRAD,
    &pool3d::MAX_POOL3D,
    &pool3d::MAX_POOL3D_GRAD,
    &pool3d::MAX_POOL3D_GRAD_GRAD,
    &max_pool::MAX_POOL,
    &max_pool::MAX_POOL_V2,
    &max_pool_grad::MAX_POOL_GRAD,
    &max_pool_grad::MAX_POOL_GRAD_GRAD,
    &max_pool_grad::MAX_POOL_GRAD_GRAD_V2,
    &max_pool_grad::MAX_POOL_GRAD_V2,
    &max_pool_with_argmax::MAX_POOL_GRAD_WITH_ARGMAX,
    &max_pool_with_argmax::MAX_POOL_WITH_ARGMAX,
];
