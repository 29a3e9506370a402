//! The global step: how many updates have been made, on all workers together.

use crate::initializers::Zeros;
use thalweg_client::{DataType, Scope, Variable, VariableOptions};

const NAME: &str = "global_step";

/// The graph's global step, if it has one.
pub fn get_global_step(g: &Scope) -> Option<Variable> {
    g.find_variable(NAME)
}

/// The graph's global step, created if missing.
#[track_caller]
pub fn get_or_create_global_step(g: &Scope) -> Variable {
    get_global_step(g).unwrap_or_else(|| {
        let options = VariableOptions { dtype: DataType::Int64, trainable: false };
        g.top_level().get_variable_with(NAME, &[], &Zeros, options)
    })
}
