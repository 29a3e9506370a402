//! The update rules of optimizers, in place.

mod adagrad;
mod adam;
mod gradient_descent;
mod momentum;
mod slots;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &gradient_descent::APPLY_GRADIENT_DESCENT,
    &gradient_descent::RESOURCE_APPLY_GRADIENT_DESCENT,
    &momentum::APPLY_MOMENTUM,
    &momentum::RESOURCE_APPLY_MOMENTUM,
    &momentum::RESOURCE_APPLY_KERAS_MOMENTUM,
    &adam::APPLY_ADAM,
    &adam::RESOURCE_APPLY_ADAM,
    &adagrad::APPLY_ADAGRAD,
    &adagrad::RESOURCE_APPLY_ADAGRAD,
    &adagrad::APPLY_ADAGRAD_V2,
    &adagrad::RESOURCE_APPLY_ADAGRAD_V2,
];

#[cfg(test)]
mod tests;
