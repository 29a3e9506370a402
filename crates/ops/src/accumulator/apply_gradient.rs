//! `AccumulatorApplyGradient`, `ResourceAccumulatorApplyGradient`: adding a gradient to an accumulator.

use super::resource::{Accumulator, Origin, check_type, replica_of};
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
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

pub static RESOURCE_ACCUMULATOR_APPLY_GRADIENT: Op = Op {
    name: "ResourceAccumulatorApplyGradient",
    inputs: &["handle: resource", "local_step: int64", "gradient: dtype"],
    ..ACCUMULATOR_APPLY_GRADIENT
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let replica = replica_of(node);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let accumulator = resource_input::<Accumulator>(c)?;
        let (local_step, gradient) = (local_step(c)?, c.take(2)?);
        check_type(&accumulator, gradient.dtype())?;
        accumulator.apply(Origin { local_step, replica }, Gradient::Dense(gradient), c.par())
    }))
}

/// Input 1: the step that the gradient was computed at.
pub fn local_step(c: &OpCall<'_>) -> Result<i64> {
    let t = c.input(1)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("Argument local_step must be scalar, but had bad shape {}", t.shape()));
    }
    t.to_scalar()
}
