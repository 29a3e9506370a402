//! `AccumulatorSetGlobalStep`, `ResourceAccumulatorSetGlobalStep`: gradients from before this step are stale.

use super::resource::Accumulator;
use crate::named::resource_input;
use crate::prelude::*;

pub static ACCUMULATOR_SET_GLOBAL_STEP: Op = Op {
    name: "AccumulatorSetGlobalStep",
    doc: "Sets the accumulator's global step: gradients computed before it are dropped.",
    inputs: &["handle: Ref(string)", "new_global_step: int64"],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(run),
    ..Op::STATEFUL
};

pub static RESOURCE_ACCUMULATOR_SET_GLOBAL_STEP: Op = Op {
    name: "ResourceAccumulatorSetGlobalStep",
    inputs: &["handle: resource", "new_global_step: int64"],
    ..ACCUMULATOR_SET_GLOBAL_STEP
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let accumulator = resource_input::<Accumulator>(c)?;
    let t = c.input(1)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("Argument new_global_step must be scalar, but had bad shape {}", t.shape()));
    }
    accumulator.set_global_step(t.to_scalar()?);
    Ok(())
}
