//! `ApplyAdadelta` and its other forms: steps in proportion to the steps before (Zeiler, 2012).

use super::elements::Root;
use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<Adadelta>("ApplyAdadelta"),
    &resource_apply::<Adadelta>("ResourceApplyAdadelta"),
    &sparse_apply::<Adadelta>("SparseApplyAdadelta"),
    &resource_sparse_apply::<Adadelta>("ResourceSparseApplyAdadelta"),
];

struct Adadelta;

impl Optimizer for Adadelta {
    const DOC: &str = "accum averages grad * grad; update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; var -= lr * update; accum_update averages update * update.";
    const SLOTS: Slots = slots!["accum", "accum_update"];
    const SCALARS: &[&str] = &["lr: T", "rho: T", "epsilon: T"];
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Adadelta>(c);
    let [lr, rho, epsilon] = update.scalars::<T, 3>(c)?;
    let rest = T::ONE.sub(rho);
    let follow = |mean: T, x: T| mean.mul(rho).add(x.mul(x).mul(rest));
    update.apply(c, move |[var, accum, accum_update], grad: T| {
        let accum = follow(accum, grad);
        let step = accum_update.add(epsilon).root().div(accum.add(epsilon).root()).mul(grad);
        [var.sub(step.mul(lr)), accum, follow(accum_update, step)]
    })
}
