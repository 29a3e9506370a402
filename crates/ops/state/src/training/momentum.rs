//! `ApplyMomentum`, `ResourceApplyKerasMomentum` and their other forms: accumulated velocity.

use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<Momentum>("ApplyMomentum"),
    &resource_apply::<Momentum>("ResourceApplyMomentum"),
    &sparse_apply::<Momentum>("SparseApplyMomentum"),
    &resource_sparse_apply::<Momentum>("ResourceSparseApplyMomentum"),
    &resource_apply::<KerasMomentum>("ResourceApplyKerasMomentum"),
    &resource_sparse_apply::<KerasMomentum>("ResourceSparseApplyKerasMomentum"),
];

struct Momentum;

impl Optimizer for Momentum {
    const DOC: &str = "accum = accum * momentum + grad; var -= lr * accum.";
    const SLOTS: Slots = slots!["accum"];
    const SCALARS: &[&str] = &["lr: T"];
    const SCALARS_AFTER_GRAD: &[&str] = &["momentum: T"];
    const ATTRS: &[&str] = &["use_nesterov: bool = false"];
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Momentum>(c);
    let [lr, momentum] = update.scalars(c)?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.mul(momentum).add(grad);
        let step = if nesterov { grad.mul(lr).add(accum.mul(momentum).mul(lr)) } else { accum.mul(lr) };
        [var.sub(step), accum]
    })
}

struct KerasMomentum;

impl Optimizer for KerasMomentum {
    const DOC: &str = "accum = accum * momentum - lr * grad; var += accum.";
    const SLOTS: Slots = Momentum::SLOTS;
    const SCALARS: &[&str] = Momentum::SCALARS;
    const SCALARS_AFTER_GRAD: &[&str] = Momentum::SCALARS_AFTER_GRAD;
    const ATTRS: &[&str] = Momentum::ATTRS;
    const KERNELS: &[KernelRow] = cpu!(keras: T in f32, f64, f16, bf16, Complex32, ComplexDouble);
}

fn keras<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<KerasMomentum>(c);
    let [lr, momentum] = update.scalars(c)?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.mul(momentum).sub(grad.mul(lr));
        let step = if nesterov { accum.mul(momentum).sub(grad.mul(lr)) } else { accum };
        [var.add(step), accum]
    })
}
