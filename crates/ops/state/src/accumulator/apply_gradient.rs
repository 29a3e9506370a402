//! `AccumulatorApplyGradient`, `ResourceAccumulatorApplyGradient`, `SparseAccumulatorApplyGradient`: adding a dense or sparse gradient
//! to an accumulator.

use super::resource::{Accumulator, Origin, check_type, replica_of};
use super::sum::{Gradient, Rows};
use crate::named::resource_input;
use crate::prelude::*;

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
fn local_step(c: &OpCall<'_>) -> Result<i64> {
    let t = c.input(1)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("Argument local_step must be scalar, but had bad shape {}", t.shape()));
    }
    t.to_scalar()
}

pub static SPARSE_ACCUMULATOR_APPLY_GRADIENT: Op = Op {
    name: "SparseAccumulatorApplyGradient",
    doc: "Adds the gradient of some rows to the accumulator; one computed before its global step is dropped.",
    inputs: &[
        "handle: Ref(string)",
        "local_step: int64",
        "gradient_indices: int64",
        "gradient_values: dtype",
        "gradient_shape: int64",
    ],
    attrs: &["dtype: numbertype", "has_known_shape: bool"],
    kernels: cpu!(make prepare_sparse),
    ..ACCUMULATOR_APPLY_GRADIENT
};

fn prepare_sparse(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (known, replica) = (node.attrs.bool("has_known_shape")?, replica_of(node));
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let accumulator = resource_input::<Accumulator>(c)?;
        let (local_step, gradient) = (local_step(c)?, rows(c, known)?);
        check_type(&accumulator, gradient.values.dtype())?;
        accumulator.apply(Origin { local_step, replica }, Gradient::Rows(gradient), c.par())
    }))
}

fn rows(c: &mut OpCall<'_>, known: bool) -> Result<Rows> {
    let indices = c.input(2)?;
    if indices.rank() != 1 {
        return Err(invalid!("Input indices should be vector but received shape: {}", indices.shape()));
    }
    let indices = reserve::copied(indices.as_slice::<i64>()?)?;
    let shape = if known { Some(reserve::copied(c.slice::<i64>(4)?)?) } else { None };
    let values = c.take(3)?;
    match values.shape().first() {
        None => Err(invalid!("Values cannot be 0-dimensional.")),
        Some(n) if *n != indices.len() => {
            Err(invalid!("Expected {} non-empty input values, got {n}", indices.len()))
        }
        Some(_) => Ok(Rows { indices, values, shape }),
    }
}
