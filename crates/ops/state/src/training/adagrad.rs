//! `ApplyAdagrad`, `ApplyAdagradV2`, `ApplyAdagradDA`, `ApplyProximalAdagrad` and their other forms: steps that shrink with the
//! accumulated squared gradients; by dual averaging, for sparse weights; proximal (Duchi, Hazan and Singer, 2011).

use super::elements::{Root, not_negative, positive, shrunk, towards_zero};
use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<Adagrad>("ApplyAdagrad"),
    &resource_apply::<Adagrad>("ResourceApplyAdagrad"),
    &sparse_apply::<Adagrad>("SparseApplyAdagrad"),
    &resource_sparse_apply::<Adagrad>("ResourceSparseApplyAdagrad"),
    &apply::<AdagradV2>("ApplyAdagradV2"),
    &resource_apply::<AdagradV2>("ResourceApplyAdagradV2"),
    &sparse_apply::<AdagradV2>("SparseApplyAdagradV2"),
    &resource_sparse_apply::<AdagradV2>("ResourceSparseApplyAdagradV2"),
    &apply::<AdagradDa>("ApplyAdagradDA"),
    &resource_apply::<AdagradDa>("ResourceApplyAdagradDA"),
    &sparse_apply::<AdagradDa>("SparseApplyAdagradDA"),
    &resource_sparse_apply::<AdagradDa>("ResourceSparseApplyAdagradDA"),
    &apply::<ProximalAdagrad>("ApplyProximalAdagrad"),
    &resource_apply::<ProximalAdagrad>("ResourceApplyProximalAdagrad"),
    &sparse_apply::<ProximalAdagrad>("SparseApplyProximalAdagrad"),
    &resource_sparse_apply::<ProximalAdagrad>("ResourceSparseApplyProximalAdagrad"),
];

struct Adagrad;

impl Optimizer for Adagrad {
    const DOC: &str = "accum += grad * grad; var -= lr * grad / sqrt(accum).";
    const SLOTS: Slots = slots!["accum"];
    const SCALARS: &[&str] = &["lr: T"];
    const ATTRS: &[&str] = &["update_slots: bool = true"];
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Adagrad>(c);
    let [lr] = update.scalars::<T, 1>(c)?;
    adagrad(c, update, lr, T::ZERO)
}

struct AdagradV2;

impl Optimizer for AdagradV2 {
    const DOC: &str = "accum += grad * grad; var -= lr * grad / (sqrt(accum) + epsilon).";
    const SLOTS: Slots = Adagrad::SLOTS;
    const SCALARS: &[&str] = &["lr: T", "epsilon: T"];
    const ATTRS: &[&str] = Adagrad::ATTRS;
    const KERNELS: &[KernelRow] = cpu!(run_v2: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run_v2<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<AdagradV2>(c);
    let [lr, epsilon] = update.scalars::<T, 2>(c)?;
    adagrad(c, update, lr, epsilon)
}

fn adagrad<T: Root>(c: &mut OpCall<'_>, update: Update<2>, lr: T, epsilon: T) -> Result<()> {
    let accumulate = c.attrs().bool("update_slots")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = if accumulate { accum.add(grad.mul(grad)) } else { accum };
        [var.sub(grad.mul(lr).div(accum.root().add(epsilon))), accum]
    })
}

struct AdagradDa;

impl Optimizer for AdagradDa {
    const DOC: &str = "With g the sum of gradients, gg that of their squares and t the step: var = -sign(g) * lr * max(|g| - l1 * t, 0) / (l2 * t * lr + sqrt(gg)).";
    const SLOTS: Slots = slots!["gradient_accumulator", "gradient_squared_accumulator"];
    const SCALARS: &[&str] = &[];
    const SCALARS_AFTER_GRAD: &[&str] = &["lr: T", "l1: T", "l2: T", "global_step: int64"];
    const KERNELS: &[KernelRow] = cpu!(dual_averaging: T in f32, f64);
}

fn dual_averaging<T: Real + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<AdagradDa>(c);
    let [lr, l1, l2] = update.scalars::<T, 3>(c)?;
    // The last input, an integer.
    let step = T::from_i64(c.scalar::<i64>(c.inputs.len().saturating_sub(1))?);
    update.apply(c, move |[_, sum, squares], grad: T| {
        let (sum, squares) = (sum.add(grad), squares.add(grad.mul(grad)));
        let left = if l1 > T::ZERO { towards_zero(sum, step.mul(l1)) } else { sum };
        let var = lr.mul(left.neg()).div(l2.mul(step.mul(lr)).add(squares.root()));
        [var, sum, squares]
    })
}

struct ProximalAdagrad;

impl Optimizer for ProximalAdagrad {
    const DOC: &str = "accum += grad * grad; r = lr / sqrt(accum); var -= r * grad; then var = sign(var) * max(|var| - r * l1, 0) / (1 + r * l2).";
    const SLOTS: Slots = Adagrad::SLOTS;
    const SCALARS: &[&str] = &["lr: T", "l1: T", "l2: T"];
    const KERNELS: &[KernelRow] = cpu!(proximal: T in f32, f64);
}

fn proximal<T: Real + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<ProximalAdagrad>(c);
    let [lr, l1, l2] = update.scalars::<T, 3>(c)?;
    positive("lr", lr)?;
    not_negative("l1 regularization strength", l1)?;
    not_negative("l2 regularization strength", l2)?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.add(grad.mul(grad));
        let rate = lr.div(accum.root());
        [shrunk(var.sub(grad.mul(rate)), rate, l1, l2), accum]
    })
}
