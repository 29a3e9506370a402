//! `ApplyMomentum`, `ResourceApplyKerasMomentum` and their other forms: steps that keep some of their speed.

use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_MOMENTUM: Op = Op {
    name: "ApplyMomentum",
    doc: "accum = accum * momentum + grad; var -= lr * accum.",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "momentum: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "use_nesterov: bool = false"],
    shape: |c| shapes(c, 2, 3),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_MOMENTUM: Op = Op {
    name: "ResourceApplyMomentum",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "momentum: T"],
    outputs: &[],
    ..APPLY_MOMENTUM
};

pub static SPARSE_APPLY_MOMENTUM: Op = Op {
    name: "SparseApplyMomentum",
    doc: "As ApplyMomentum, for the rows `indices` of the variable.",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "indices: Tindices", "momentum: T"],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "use_nesterov: bool = false",
    ],
    shape: |c| shapes(c, 2, 3),
    ..APPLY_MOMENTUM
};

pub static RESOURCE_SPARSE_APPLY_MOMENTUM: Op = Op {
    name: "ResourceSparseApplyMomentum",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "indices: Tindices", "momentum: T"],
    outputs: &[],
    ..SPARSE_APPLY_MOMENTUM
};

pub static RESOURCE_APPLY_KERAS_MOMENTUM: Op = Op {
    name: "ResourceApplyKerasMomentum",
    doc: "accum = accum * momentum - lr * grad; var += accum.",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "momentum: T"],
    outputs: &[],
    attrs: &["T: numbertype", "use_locking: bool = false", "use_nesterov: bool = false"],
    shape: |c| shapes(c, 2, 3),
    kernels: cpu!(keras: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_SPARSE_APPLY_KERAS_MOMENTUM: Op = Op {
    name: "ResourceSparseApplyKerasMomentum",
    doc: "As ResourceApplyKerasMomentum, for the rows `indices` of the variable.",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "indices: Tindices", "momentum: T"],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "use_nesterov: bool = false",
    ],
    shape: |c| shapes(c, 2, 3),
    ..RESOURCE_APPLY_KERAS_MOMENTUM
};

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 3);
    let [lr, momentum] = update.scalars::<T, 2>(c, ["lr", "momentum"])?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.mul(momentum).add(grad);
        let step = if nesterov { grad.mul(lr).add(accum.mul(momentum).mul(lr)) } else { accum.mul(lr) };
        [var.sub(step), accum]
    })
}

fn keras<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<2>::new(c, 3);
    let [lr, momentum] = update.scalars::<T, 2>(c, ["lr", "momentum"])?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    update.apply(c, move |[var, accum], grad: T| {
        let accum = accum.mul(momentum).sub(grad.mul(lr));
        let step = if nesterov { accum.mul(momentum).sub(grad.mul(lr)) } else { accum };
        [var.add(step), accum]
    })
}
