//! `ApplyAddSign`, `ApplyPowerSign` and their resource forms: longer steps where the gradient agrees with its running mean (Bello and others, 2017).

use super::elements::sign;
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_ADD_SIGN: Op = Op {
    name: "ApplyAddSign",
    doc: "m follows the gradient; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
    inputs: &["var: Ref(T)", "m: Ref(T)", "lr: T", "alpha: T", "sign_decay: T", "beta: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 2, 6),
    kernels: cpu!(add_sign: T in f32, f64, f16, bf16),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADD_SIGN: Op = Op {
    name: "ResourceApplyAddSign",
    inputs: &["var: resource", "m: resource", "lr: T", "alpha: T", "sign_decay: T", "beta: T", "grad: T"],
    outputs: &[],
    ..APPLY_ADD_SIGN
};

pub static APPLY_POWER_SIGN: Op = Op {
    name: "ApplyPowerSign",
    doc: "m follows the gradient; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
    inputs: &["var: Ref(T)", "m: Ref(T)", "lr: T", "logbase: T", "sign_decay: T", "beta: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 2, 6),
    kernels: cpu!(power_sign: T in f32, f64, f16, bf16),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_POWER_SIGN: Op = Op {
    name: "ResourceApplyPowerSign",
    inputs: &["var: resource", "m: resource", "lr: T", "logbase: T", "sign_decay: T", "beta: T", "grad: T"],
    outputs: &[],
    ..APPLY_POWER_SIGN
};

fn add_sign<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 6);
    let [lr, alpha, decay, beta] = update.scalars::<T, 4>(c, ["lr", "alpha", "sign_decay", "beta"])?;
    update.apply(c, move |[var, m], grad: T| {
        let m = follow(m, grad, beta);
        let scale = alpha.add(decay.mul(sign(grad).mul(sign(m))));
        [var.sub(lr.mul(scale).mul(grad)), m]
    })
}

fn power_sign<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 6);
    let [lr, logbase, decay, beta] = update.scalars::<T, 4>(c, ["lr", "logbase", "sign_decay", "beta"])?;
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
