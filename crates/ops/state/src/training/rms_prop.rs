//! `ApplyRMSProp`, `ApplyCenteredRMSProp` and their other forms: steps scaled by a running mean of squared gradients, or by their variance.

use super::elements::Root;
use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<RmsProp>("ApplyRMSProp"),
    &resource_apply::<RmsProp>("ResourceApplyRMSProp"),
    &sparse_apply::<RmsProp>("SparseApplyRMSProp"),
    &resource_sparse_apply::<RmsProp>("ResourceSparseApplyRMSProp"),
    &apply::<CenteredRmsProp>("ApplyCenteredRMSProp"),
    &resource_apply::<CenteredRmsProp>("ResourceApplyCenteredRMSProp"),
    &sparse_apply::<CenteredRmsProp>("SparseApplyCenteredRMSProp"),
    &resource_sparse_apply::<CenteredRmsProp>("ResourceSparseApplyCenteredRMSProp"),
];

struct RmsProp;

impl Optimizer for RmsProp {
    const DOC: &str =
        "ms averages grad * grad; mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom.";
    const SLOTS: Slots = slots!["ms", "mom"];
    const SCALARS: &[&str] = &["lr: T", "rho: T", "momentum: T", "epsilon: T"];
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<RmsProp>(c);
    let [lr, rho, momentum, epsilon] = update.scalars::<T, 4>(c)?;
    let rest = T::ONE.sub(rho);
    update.apply(c, move |[var, ms, mom], grad: T| {
        let ms = ms.add(grad.mul(grad).sub(ms).mul(rest));
        let mom = mom.mul(momentum).add(grad.mul(lr).div(ms.add(epsilon).root()));
        [var.sub(mom), ms, mom]
    })
}

struct CenteredRmsProp;

impl Optimizer for CenteredRmsProp {
    const DOC: &str = "ms and mg are moving averages of grad * grad and grad; mom = momentum * mom + lr * grad / sqrt(ms - mg * mg + epsilon); var -= mom.";
    const SLOTS: Slots = slots!["mg", "ms", "mom"];
    const SCALARS: &[&str] = RmsProp::SCALARS;
    const KERNELS: &[KernelRow] = cpu!(centered: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn centered<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<CenteredRmsProp>(c);
    let [lr, rho, momentum, epsilon] = update.scalars::<T, 4>(c)?;
    let rest = T::ONE.sub(rho);
    update.apply(c, move |[var, mg, ms, mom], grad: T| {
        let ms = ms.add(grad.mul(grad).sub(ms).mul(rest));
        let mg = mg.add(grad.sub(mg).mul(rest));
        let variance = ms.sub(mg.mul(mg));
        let mom = mom.mul(momentum).add(grad.mul(lr).div(variance.add(epsilon).root()));
        [var.sub(mom), mg, ms, mom]
    })
}
