//! `AccumulatorApplyGradient`, `ResourceAccumulatorApplyGradient`: adding a gradient to an accumulator.

use super::resource::{Accumulator, check_type};
use super::sum::Gradient;
use crate::prelude::*;
use crate::state::named::resource_input;

pub static ACCUMULATOR_APPLY_GRADIENT: Op = Op {
    name: "AccumulatorApplyGradient",
    doc: "Adds a gradient to the accumulator; one computed before its global step is dropped.",
    inputs: &["handle: Ref(string)", "local_step: int64", "gradient: dtype"],
    attrs: &["dtype: numbertype"],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(run),
    ..Op::STATEFUL
};

pub static RESOURCE_ACCUMULATOR_APPLY_GRADIENT: Op = Op {
    name: "ResourceAccumulatorApplyGradient",
    inputs: &["handle: resource", "local_step: int64", "gradient: dtype"],
    ..ACCUMULATOR_APPLY_GRADIENT
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let accumulator = resource_input::<Accumulator>(c)?;
    let (step, gradient) = (local_step(c)?, c.take(2)?);
    check_type(&accumulator, gradient.dtype())?;
    accumulator.apply(step, Gradient::Dense(gradient), c.par())
}

/// Input 1: the step that the gradient was computed at.
pub fn local_step(c: &OpCall<'_>) -> Result<i64> {
    let t = c.input(1)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("Argument local_step must be scalar, but had bad shape {}", t.shape()));
    }
    t.to_scalar()
}
