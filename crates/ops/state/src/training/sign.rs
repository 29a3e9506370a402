//! `ApplyAddSign`, `ApplyPowerSign` and their resource forms: longer steps where the gradient agrees with its running mean (Bello and others, 2017).

use super::elements::sign;
use super::forms::{Optimizer, Slots, apply, resource_apply, slots};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<AddSign>("ApplyAddSign"),
    &resource_apply::<AddSign>("ResourceApplyAddSign"),
    &apply::<PowerSign>("ApplyPowerSign"),
    &resource_apply::<PowerSign>("ResourceApplyPowerSign"),
];

struct AddSign;

impl Optimizer for AddSign {
    const DOC: &str =
        "m averages the gradient; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.";
    const SLOTS: Slots = slots!["m"];
    const SCALARS: &[&str] = &["lr: T", "alpha: T", "sign_decay: T", "beta: T"];
    const KERNELS: &[KernelRow] = cpu!(add_sign: T in f32, f64, f16, bf16);
}

fn add_sign<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<AddSign>(c);
    let [lr, alpha, decay, beta] = update.scalars::<T, 4>(c)?;
    update.apply(c, move |[var, m], grad: T| {
        let m = follow(m, grad, beta);
        let scale = alpha.add(decay.mul(sign(grad).mul(sign(m))));
        [var.sub(lr.mul(scale).mul(grad)), m]
    })
}

struct PowerSign;

impl Optimizer for PowerSign {
    const DOC: &str =
        "m averages the gradient; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.";
    const SLOTS: Slots = AddSign::SLOTS;
    const SCALARS: &[&str] = &["lr: T", "logbase: T", "sign_decay: T", "beta: T"];
    const KERNELS: &[KernelRow] = cpu!(power_sign: T in f32, f64, f16, bf16);
}

fn power_sign<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<PowerSign>(c);
    let [lr, logbase, decay, beta] = update.scalars::<T, 4>(c)?;
    update.apply(c, move |[var, m], grad: T| {
        let m = follow(m, grad, beta);
        let scale = logbase.mul(decay).mul(sign(grad).mul(sign(m))).via(f32::exp, f64::exp);
        [var.sub(lr.mul(scale).mul(grad)), m]
    })
}

#[inline(always)]
fn follow<T: Number>(mean: T, x: T, beta: T) -> T {
    mean.mul(beta).add(x.mul(T::ONE.sub(beta)))
}
