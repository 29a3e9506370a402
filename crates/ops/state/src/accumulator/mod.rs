//! Conditional accumulators: gradients of several workers, averaged once enough have been applied. Stale gradients, computed
//! from old weights, are dropped.

mod apply_gradient;
mod conditional_accumulator;
mod num_accumulated;
mod resource;
mod set_global_step;
mod sum;
mod take_gradient;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &conditional_accumulator::CONDITIONAL_ACCUMULATOR,
    &conditional_accumulator::RESOURCE_CONDITIONAL_ACCUMULATOR,
    &conditional_accumulator::SPARSE_CONDITIONAL_ACCUMULATOR,
    &apply_gradient::ACCUMULATOR_APPLY_GRADIENT,
    &apply_gradient::RESOURCE_ACCUMULATOR_APPLY_GRADIENT,
    &apply_gradient::SPARSE_ACCUMULATOR_APPLY_GRADIENT,
    &take_gradient::ACCUMULATOR_TAKE_GRADIENT,
    &take_gradient::RESOURCE_ACCUMULATOR_TAKE_GRADIENT,
    &take_gradient::SPARSE_ACCUMULATOR_TAKE_GRADIENT,
    &set_global_step::ACCUMULATOR_SET_GLOBAL_STEP,
    &set_global_step::RESOURCE_ACCUMULATOR_SET_GLOBAL_STEP,
    &num_accumulated::ACCUMULATOR_NUM_ACCUMULATED,
    &num_accumulated::RESOURCE_ACCUMULATOR_NUM_ACCUMULATED,
    &num_accumulated::ACCUMULATOR_NUM_STALE,
];

#[cfg(test)]
mod tests;
