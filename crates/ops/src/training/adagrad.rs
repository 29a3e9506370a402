//! `ApplyAdagrad`, `ApplyAdagradV2` and their other forms: steps that shrink with the gradients seen so far (Duchi, Hazan and Singer, 2011).

use super::elements::Root;
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_ADAGRAD: Op = Op {
    name: "ApplyAdagrad",
    doc: "accum += grad * grad; var -= lr * grad / sqrt(accum).",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "update_slots: bool = true"],
    shape: |c| shapes(c, 2, 3),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADAGRAD: Op = Op {
    name: "ResourceApplyAdagrad",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T"],
    outputs: &[],
    ..APPLY_ADAGRAD
};

pub static SPARSE_APPLY_ADAGRAD: Op = Op {
    name: "SparseApplyAdagrad",
    doc: "As ApplyAdagrad, for the rows `indices` of the variable.",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "indices: Tindices"],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "update_slots: bool = true",
    ],
    shape: |c| shapes(c, 2, 3),
    ..APPLY_ADAGRAD
};

pub static RESOURCE_SPARSE_APPLY_ADAGRAD: Op = Op {
    name: "ResourceSparseApplyAdagrad",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "indices: Tindices"],
    outputs: &[],
    ..SPARSE_APPLY_ADAGRAD
};

pub static APPLY_ADAGRAD_V2: Op = Op {
    name: "ApplyAdagradV2",
    doc: "accum += grad * grad; var -= lr * grad / (sqrt(accum) + epsilon).",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "epsilon: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "update_slots: bool = true"],
    shape: |c| shapes(c, 2, 4),
    kernels: cpu!(run_v2: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADAGRAD_V2: Op = Op {
    name: "ResourceApplyAdagradV2",
    inputs: &["var: resource", "accum: resource", "lr: T", "epsilon: T", "grad: T"],
    outputs: &[],
    ..APPLY_ADAGRAD_V2
};

pub static SPARSE_APPLY_ADAGRAD_V2: Op = Op {
    name: "SparseApplyAdagradV2",
    doc: "As ApplyAdagradV2, for the rows `indices` of the variable.",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "epsilon: T", "grad: T", "indices: Tindices"],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "update_slots: bool = true",
    ],
    shape: |c| shapes(c, 2, 4),
    ..APPLY_ADAGRAD_V2
};

pub static RESOURCE_SPARSE_APPLY_ADAGRAD_V2: Op = Op {
    name: "ResourceSparseApplyAdagradV2",
    inputs: &["var: resource", "accum: resource", "lr: T", "epsilon: T", "grad: T", "indices: Tindices"],
    outputs: &[],
    ..SPARSE_APPLY_ADAGRAD_V2
};

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 3);
    let [lr] = update.scalars::<T, 1>(c, ["lr"])?;
    adagrad(c, update, lr, T::ZERO)
}

fn run_v2<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 4);
    let [lr, epsilon] = update.scalars::<T, 2>(c, ["lr", "epsilon"])?;
    adagrad(c, update, lr, epsilon)
}

fn adagrad<T: Root>(c: &mut OpCall<'_>, update: Update<2>, lr: T, epsilon: T) -> Result<()> {
    let accumulate = c.attrs().bool("update_slots")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = if accumulate { accum.add(grad.mul(grad)) } else { accum };
        [var.sub(grad.mul(lr).div(accum.root().add(epsilon))), accum]
    })
}
