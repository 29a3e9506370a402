//! The update rules of optimizers, in place.

mod ada_max;
mod adadelta;
mod adagrad;
mod adagrad_da;
mod adam;
mod elements;
mod ftrl;
mod gradient_descent;
mod momentum;
mod proximal_adagrad;
mod proximal_gradient_descent;
mod rms_prop;
mod sign;
mod update;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &gradient_descent::APPLY_GRADIENT_DESCENT,
    &gradient_descent::RESOURCE_APPLY_GRADIENT_DESCENT,
    &proximal_gradient_descent::APPLY_PROXIMAL_GRADIENT_DESCENT,
    &proximal_gradient_descent::RESOURCE_APPLY_PROXIMAL_GRADIENT_DESCENT,
    &proximal_gradient_descent::SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT,
    &proximal_gradient_descent::RESOURCE_SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT,
    &momentum::APPLY_MOMENTUM,
    &momentum::RESOURCE_APPLY_MOMENTUM,
    &momentum::SPARSE_APPLY_MOMENTUM,
    &momentum::RESOURCE_SPARSE_APPLY_MOMENTUM,
    &momentum::RESOURCE_APPLY_KERAS_MOMENTUM,
    &momentum::RESOURCE_SPARSE_APPLY_KERAS_MOMENTUM,
    &adagrad::APPLY_ADAGRAD,
    &adagrad::RESOURCE_APPLY_ADAGRAD,
    &adagrad::SPARSE_APPLY_ADAGRAD,
    &adagrad::RESOURCE_SPARSE_APPLY_ADAGRAD,
    &adagrad::APPLY_ADAGRAD_V2,
    &adagrad::RESOURCE_APPLY_ADAGRAD_V2,
    &adagrad::SPARSE_APPLY_ADAGRAD_V2,
    &adagrad::RESOURCE_SPARSE_APPLY_ADAGRAD_V2,
    &adagrad_da::APPLY_ADAGRAD_DA,
    &adagrad_da::RESOURCE_APPLY_ADAGRAD_DA,
    &adagrad_da::SPARSE_APPLY_ADAGRAD_DA,
    &adagrad_da::RESOURCE_SPARSE_APPLY_ADAGRAD_DA,
    &proximal_adagrad::APPLY_PROXIMAL_ADAGRAD,
    &proximal_adagrad::RESOURCE_APPLY_PROXIMAL_ADAGRAD,
    &proximal_adagrad::SPARSE_APPLY_PROXIMAL_ADAGRAD,
    &proximal_adagrad::RESOURCE_SPARSE_APPLY_PROXIMAL_ADAGRAD,
    &adadelta::APPLY_ADADELTA,
    &adadelta::RESOURCE_APPLY_ADADELTA,
    &adadelta::SPARSE_APPLY_ADADELTA,
    &adadelta::RESOURCE_SPARSE_APPLY_ADADELTA,
    &adam::APPLY_ADAM,
    &adam::RESOURCE_APPLY_ADAM,
    &ada_max::APPLY_ADA_MAX,
    &ada_max::RESOURCE_APPLY_ADA_MAX,
    &rms_prop::APPLY_RMS_PROP,
    &rms_prop::RESOURCE_APPLY_RMS_PROP,
    &rms_prop::SPARSE_APPLY_RMS_PROP,
    &rms_prop::RESOURCE_SPARSE_APPLY_RMS_PROP,
    &rms_prop::APPLY_CENTERED_RMS_PROP,
    &rms_prop::RESOURCE_APPLY_CENTERED_RMS_PROP,
    &rms_prop::SPARSE_APPLY_CENTERED_RMS_PROP,
    &rms_prop::RESOURCE_SPARSE_APPLY_CENTERED_RMS_PROP,
    &ftrl::APPLY_FTRL,
    &ftrl::RESOURCE_APPLY_FTRL,
    &ftrl::SPARSE_APPLY_FTRL,
    &ftrl::RESOURCE_SPARSE_APPLY_FTRL,
    &ftrl::APPLY_FTRL_V2,
    &ftrl::RESOURCE_APPLY_FTRL_V2,
    &ftrl::SPARSE_APPLY_FTRL_V2,
    &ftrl::RESOURCE_SPARSE_APPLY_FTRL_V2,
    &sign::APPLY_ADD_SIGN,
    &sign::RESOURCE_APPLY_ADD_SIGN,
    &sign::APPLY_POWER_SIGN,
    &sign::RESOURCE_APPLY_POWER_SIGN,
];

#[cfg(test)]
mod tests;
