//! Reductions: many elements to one.

mod arg_max;
mod axes;
mod bincount;
mod broadcast_gradient_args;
mod cumsum;
mod cumulative_logsumexp;
mod histogram_fixed_width;
mod l2_loss;
mod reductions;
mod segment;
mod segment_gradients;
mod segments;
mod sparse_segment;
mod sparse_segment_grad;
mod squares;
mod unsorted_segment;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    reductions::OPS,
    segment::OPS,
    unsorted_segment::OPS,
    sparse_segment::OPS,
    sparse_segment_grad::OPS,
    SINGLE,
];

static SINGLE: &[&Op] = &[
    &arg_max::ARG_MAX,
    &arg_max::ARG_MIN,
    &bincount::BINCOUNT,
    &bincount::DENSE_BINCOUNT,
    &broadcast_gradient_args::BROADCAST_GRADIENT_ARGS,
    &cumsum::CUMSUM,
    &cumsum::CUMPROD,
    &cumulative_logsumexp::CUMULATIVE_LOGSUMEXP,
    &histogram_fixed_width::HISTOGRAM_FIXED_WIDTH,
    &l2_loss::L2_LOSS,
];
