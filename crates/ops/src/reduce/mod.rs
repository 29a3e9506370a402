//! Reductions: many elements to one.

mod all;
mod arg_max;
mod axes;
mod broadcast_gradient_args;
mod euclidean_norm;
mod l2_loss;
mod max;
mod mean;
mod prod;
mod squares;
mod sum;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &all::ALL,
    &all::ANY,
    &arg_max::ARG_MAX,
    &arg_max::ARG_MIN,
    &broadcast_gradient_args::BROADCAST_GRADIENT_ARGS,
    &euclidean_norm::EUCLIDEAN_NORM,
    &l2_loss::L2_LOSS,
    &max::MAX,
    &max::MIN,
    &mean::MEAN,
    &prod::PROD,
    &sum::SUM,
];
