//! Reductions: many elements to one.

mod all;
mod arg_max;
mod axes;
mod bincount;
mod broadcast_gradient_args;
mod cumsum;
mod euclidean_norm;
mod histogram_fixed_width;
mod l2_loss;
mod max;
mod mean;
mod prod;
mod segment;
mod segment_gradients;
mod segments;
mod sparse_segment;
mod sparse_segment_grad;
mod squares;
mod sum;
mod unsorted_segment;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &all::ALL,
    &all::ANY,
    &arg_max::ARG_MAX,
    &arg_max::ARG_MIN,
    &bincount::BINCOUNT,
    &bincount::DENSE_BINCOUNT,
    &broadcast_gradient_args::BROADCAST_GRADIENT_ARGS,
    &cumsum::CUMSUM,
    &cumsum::CUMPROD,
    &euclidean_norm::EUCLIDEAN_NORM,
    &histogram_fixed_width::HISTOGRAM_FIXED_WIDTH,
    &l2_loss::L2_LOSS,
    &max::MAX,
    &max::MIN,
    &mean::MEAN,
    &prod::PROD,
    &segment::SEGMENT_SUM,
    &segment::SEGMENT_MEAN,
    &segment::SEGMENT_PROD,
    &segment::SEGMENT_MAX,
    &segment::SEGMENT_MIN,
    &sparse_segment::SPARSE_SEGMENT_SUM,
    &sparse_segment::SPARSE_SEGMENT_MEAN,
    &sparse_segment::SPARSE_SEGMENT_SQRT_N,
    &sparse_segment::SPARSE_SEGMENT_SUM_WITH_NUM_SEGMENTS,
    &sparse_segment::SPARSE_SEGMENT_MEAN_WITH_NUM_SEGMENTS,
    &sparse_segment::SPARSE_SEGMENT_SQRT_N_WITH_NUM_SEGMENTS,
    &sparse_segment_grad::SPARSE_SEGMENT_SUM_GRAD,
    &sparse_segment_grad::SPARSE_SEGMENT_MEAN_GRAD,
    &sparse_segment_grad::SPARSE_SEGMENT_SQRT_N_GRAD,
    &sum::SUM,
    &unsorted_segment::UNSORTED_SEGMENT_SUM,
    &unsorted_segment::UNSORTED_SEGMENT_PROD,
    &unsorted_segment::UNSORTED_SEGMENT_MAX,
    &unsorted_segment::UNSORTED_SEGMENT_MIN,
];
