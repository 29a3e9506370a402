//! `ApplyGradientDescent`, `ApplyProximalGradientDescent` and their other forms: gradient descent, and its proximal
//! variant (Duchi and Singer, 2009).

use super::elements::shrunk;
use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<GradientDescent>("ApplyGradientDescent"),
    &resource_apply::<GradientDescent>("ResourceApplyGradientDescent"),
    &apply::<ProximalGradientDescent>("ApplyProximalGradientDescent"),
    &resource_apply::<ProximalGradientDescent>("ResourceApplyProximalGradientDescent"),
    &sparse_apply::<ProximalGradientDescent>("SparseApplyProximalGradientDescent"),
    &resource_sparse_apply::<ProximalGradientDescent>("ResourceSparseApplyProximalGradientDescent"),
];

struct GradientDescent;

impl Optimizer for GradientDescent {
    const DOC: &str = "var -= alpha * delta.";
    const SLOTS: Slots = slots![];
    const SCALARS: &[&str] = &["alpha: T"];
    const DENSE_GRAD: &str = "delta: T";
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<GradientDescent>(c);
    let [alpha] = update.scalars(c)?;
    update.apply(c, move |[var], delta: T| [var.sub(delta.mul(alpha))])
}

struct ProximalGradientDescent;

impl Optimizer for ProximalGradientDescent {
    const DOC: &str =
        "var -= alpha * delta; then var = sign(var) * max(|var| - alpha * l1, 0) / (1 + alpha * l2).";
    const SLOTS: Slots = slots![];
    const SCALARS: &[&str] = &["alpha: T", "l1: T", "l2: T"];
    const DENSE_GRAD: &str = "delta: T";
    const KERNELS: &[KernelRow] = cpu!(proximal: T in f32, f64);
}

fn proximal<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<ProximalGradientDescent>(c);
    let [alpha, l1, l2] = update.scalars(c)?;
    update.apply(c, move |[var], delta: T| [shrunk(var.sub(delta.mul(alpha)), alpha, l1, l2)])
}
