//! Pooling: the maximum or the average under a window, with gradients.

mod avg_pool;
mod max_pool;
mod max_pool_grad;
mod max_pool_with_argmax;
mod parameters;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &avg_pool::AVG_POOL,
    &avg_pool::AVG_POOL_GRAD,
    &max_pool::MAX_POOL,
    &max_pool::MAX_POOL_V2,
    &max_pool_grad::MAX_POOL_GRAD,
    &max_pool_grad::MAX_POOL_GRAD_GRAD,
    &max_pool_grad::MAX_POOL_GRAD_GRAD_V2,
    &max_pool_grad::MAX_POOL_GRAD_V2,
    &max_pool_with_argmax::MAX_POOL_GRAD_WITH_ARGMAX,
    &max_pool_with_argmax::MAX_POOL_WITH_ARGMAX,
];
