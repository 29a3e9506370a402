//! `ApplyGradientDescent`, `ResourceApplyGradientDescent`: a step against the gradient.

use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_GRADIENT_DESCENT: Op = Op {
    name: "ApplyGradientDescent",
    doc: "var -= alpha * delta.",
    inputs: &["var: Ref(T)", "alpha: T", "delta: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 1, 2),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_GRADIENT_DESCENT: Op = Op {
    name: "ResourceApplyGradientDescent",
    inputs: &["var: resource", "alpha: T", "delta: T"],
    outputs: &[],
    ..APPLY_GRADIENT_DESCENT
};

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<1>::new(c, 2);
    let [alpha] = update.scalars::<T, 1>(c, ["alpha"])?;
    update.apply(c, move |[var], delta: T| [var.sub(delta.mul(alpha))])
}
