//! `AccumulatorNumAccumulated`, `ResourceAccumulatorNumAccumulated`, and our own `AccumulatorNumStale`: counters of an accumulator.

use super::resource::Accumulator;
use crate::named::resource_input;
use crate::prelude::*;

pub static ACCUMULATOR_NUM_ACCUMULATED: Op = Op {
    name: "AccumulatorNumAccumulated",
    doc: "The number of gradients in the accumulator.",
    inputs: &["handle: Ref(string)"],
    outputs: &["num_accumulated: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(accumulated),
    ..Op::STATEFUL
};

pub static RESOURCE_ACCUMULATOR_NUM_ACCUMULATED: Op = Op {
    name: "ResourceAccumulatorNumAccumulated",
    inputs: &["handle: resource"],
    ..ACCUMULATOR_NUM_ACCUMULATED
};

/// TensorFlow drops stale gradients silently and has no op that counts them.
pub static ACCUMULATOR_NUM_STALE: Op = Op {
    name: "AccumulatorNumStale",
    doc: "The number of gradients that the accumulator has dropped because they were stale. Not in TensorFlow.",
    outputs: &["num_stale: int64"],
    kernels: cpu!(stale),
    ..ACCUMULATOR_NUM_ACCUMULATED
};

fn accumulated(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Accumulator>(c)?.num_accumulated();
    c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
    Ok(())
}

fn stale(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Accumulator>(c)?.num_stale();
    c.set(0, Tensor::scalar(i64::try_from(n).unwrap_or(i64::MAX)));
    Ok(())
}
