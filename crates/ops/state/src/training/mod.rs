//! Updates of variables by optimizers, in place. `forms` has the four forms that an update may have, `update` the loops; each other file
//! is an optimizer, or a few that share their formula.

mod adadelta;
mod adagrad;
mod adam;
mod elements;
mod forms;
mod ftrl;
mod gradient_descent;
mod momentum;
mod rms_prop;
mod sign;
mod update;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    gradient_descent::OPS,
    momentum::OPS,
    adagrad::OPS,
    adadelta::OPS,
    adam::OPS,
    rms_prop::OPS,
    ftrl::OPS,
    sign::OPS,
];

#[cfg(test)]
mod tests;
