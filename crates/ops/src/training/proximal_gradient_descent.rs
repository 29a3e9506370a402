//! `ApplyProximalGradientDescent` and its other forms: a step against the gradient, then one towards zero (Duchi and Singer, 2009).

use super::elements::shrunk;
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_PROXIMAL_GRADIENT_DESCENT: Op = Op {
    name: "ApplyProximalGradientDescent",
    doc: "var -= alpha * delta; then var = sign(var) * max(|var| - alpha * l1, 0) / (1 + alpha * l2).",
    inputs: &["var: Ref(T)", "alpha: T", "l1: T", "l2: T", "delta: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 1, 4),
    kernels: cpu!(run: T in f32, f64),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_PROXIMAL_GRADIENT_DESCENT: Op = Op {
    name: "ResourceApplyProximalGradientDescent",
    inputs: &["var: resource", "alpha: T", "l1: T", "l2: T", "delta: T"],
    outputs: &[],
    ..APPLY_PROXIMAL_GRADIENT_DESCENT
};

pub static SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT: Op = Op {
    name: "SparseApplyProximalGradientDescent",
    doc: "As ApplyProximalGradientDescent, for the rows `indices` of the variable.",
    inputs: &["var: Ref(T)", "alpha: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 1, 4),
    ..APPLY_PROXIMAL_GRADIENT_DESCENT
};

pub static RESOURCE_SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT: Op = Op {
    name: "ResourceSparseApplyProximalGradientDescent",
    inputs: &["var: resource", "alpha: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
    outputs: &[],
    ..SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<1>::new(c, 4);
    let [alpha, l1, l2] = update.scalars::<T, 3>(c, ["alpha", "l1", "l2"])?;
    update.apply(c, move |[var], delta: T| [shrunk(var.sub(delta.mul(alpha)), alpha, l1, l2)])
}
