//! `ApplyAdam`, `ApplyAdaMax` and their resource forms: steps scaled by running moments of the gradient, or by its infinity norm
//! (Kingma and Ba, 2014).

use super::elements::Root;
use super::forms::{Optimizer, Slots, apply, resource_apply, slots};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<Adam>("ApplyAdam"),
    &resource_apply::<Adam>("ResourceApplyAdam"),
    &resource_apply::<Amsgrad>("ResourceApplyAdamWithAmsgrad"),
    &apply::<AdaMax>("ApplyAdaMax"),
    &resource_apply::<AdaMax>("ResourceApplyAdaMax"),
];

struct Adam;

impl Optimizer for Adam {
    const DOC: &str = "m and v are moving averages of grad and its square; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).";
    const SLOTS: Slots = slots!["m", "v"];
    const SCALARS: &[&str] =
        &["beta1_power: T", "beta2_power: T", "lr: T", "beta1: T", "beta2: T", "epsilon: T"];
    const ATTRS: &[&str] = &["use_nesterov: bool = false"];
    const KERNELS: &[KernelRow] = cpu!(adam: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn adam<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Adam>(c);
    let [power1, power2, lr, beta1, beta2, epsilon] = update.scalars::<T, 6>(c)?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    let (rest1, rest2) = (T::ONE.sub(beta1), T::ONE.sub(beta2));
    let alpha = lr.mul(T::ONE.sub(power2).root()).div(T::ONE.sub(power1));
    update.apply(c, move |[var, m, v], grad: T| {
        let m = m.add(grad.sub(m).mul(rest1));
        let v = v.add(grad.mul(grad).sub(v).mul(rest2));
        let ahead = if nesterov { grad.mul(rest1).add(beta1.mul(m)) } else { m };
        [var.sub(ahead.mul(alpha).div(v.root().add(epsilon))), m, v]
    })
}

/// Adam that divides by the largest second moment so far (Reddi, Kale and Kumar, 2018).
struct Amsgrad;

impl Optimizer for Amsgrad {
    const DOC: &str = "As Adam, with vhat = max(vhat, v) in place of v in the quotient.";
    const SLOTS: Slots = slots!["m", "v", "vhat"];
    const SCALARS: &[&str] = Adam::SCALARS;
    const KERNELS: &[KernelRow] = cpu!(amsgrad: T in f32, f64, f16, bf16);
}

fn amsgrad<T: Root + Real>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Amsgrad>(c);
    let [power1, power2, lr, beta1, beta2, epsilon] = update.scalars::<T, 6>(c)?;
    let (rest1, rest2) = (T::ONE.sub(beta1), T::ONE.sub(beta2));
    let alpha = lr.mul(T::ONE.sub(power2).root()).div(T::ONE.sub(power1));
    update.apply(c, move |[var, m, v, vhat], grad: T| {
        let m = m.add(grad.sub(m).mul(rest1));
        let v = v.add(grad.mul(grad).sub(v).mul(rest2));
        let vhat = vhat.larger(v);
        [var.sub(m.mul(alpha).div(vhat.root().add(epsilon))), m, v, vhat]
    })
}

struct AdaMax;

impl Optimizer for AdaMax {
    const DOC: &str = "m is a moving average of grad; v = max(beta2 * v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon).";
    const SLOTS: Slots = Adam::SLOTS;
    const SCALARS: &[&str] = &["beta1_power: T", "lr: T", "beta1: T", "beta2: T", "epsilon: T"];
    const KERNELS: &[KernelRow] = cpu!(ada_max: T in f32, f64, f16);
}

fn ada_max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<AdaMax>(c);
    let [power1, lr, beta1, beta2, epsilon] = update.scalars::<T, 5>(c)?;
    let (rest1, rate) = (T::ONE.sub(beta1), lr.div(T::ONE.sub(power1)));
    update.apply(c, move |[var, m, v], grad: T| {
        let m = m.add(grad.sub(m).mul(rest1));
        let v = beta2.mul(v).larger(grad.absolute());
        [var.sub(rate.mul(m.div(v.add(epsilon)))), m, v]
    })
}
