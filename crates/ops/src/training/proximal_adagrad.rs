//! `ApplyProximalAdagrad` and its other forms: a step of Adagrad, then one towards zero.

use super::elements::{Root, not_negative, positive, shrunk};
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_PROXIMAL_ADAGRAD: Op = Op {
    name: "ApplyProximalAdagrad",
    doc: "accum += grad * grad; r = lr / sqrt(accum); var -= r * grad; then var = sign(var) * max(|var| - r * l1, 0) / (1 + r * l2).",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "l1: T", "l2: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 2, 5),
    kernels: cpu!(run: T in f32, f64),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_PROXIMAL_ADAGRAD: Op = Op {
    name: "ResourceApplyProximalAdagrad",
    inputs: &["var: resource", "accum: resource", "lr: T", "l1: T", "l2: T", "grad: T"],
    outputs: &[],
    ..APPLY_PROXIMAL_ADAGRAD
};

pub static SPARSE_APPLY_PROXIMAL_ADAGRAD: Op = Op {
    name: "SparseApplyProximalAdagrad",
    doc: "As ApplyProximalAdagrad, for the rows `indices` of the variable.",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 2, 5),
    ..APPLY_PROXIMAL_ADAGRAD
};

pub static RESOURCE_SPARSE_APPLY_PROXIMAL_ADAGRAD: Op = Op {
    name: "ResourceSparseApplyProximalAdagrad",
    inputs: &["var: resource", "accum: resource", "lr: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
    outputs: &[],
    ..SPARSE_APPLY_PROXIMAL_ADAGRAD
};

fn run<T: Real + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 5);
    let [lr, l1, l2] = update.scalars::<T, 3>(c, ["lr", "l1", "l2"])?;
    positive("lr", lr)?;
    not_negative("l1 regularization strength", l1)?;
    not_negative("l2 regularization strength", l2)?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.add(grad.mul(grad));
        let rate = lr.div(accum.root());
        [shrunk(var.sub(grad.mul(rate)), rate, l1, l2), accum]
    })
}
