//! `ApplyRMSProp`, `ApplyCenteredRMSProp` and their other forms: steps scaled by a running mean of squared gradients, or by their variance.

use super::elements::Root;
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_RMS_PROP: Op = Op {
    name: "ApplyRMSProp",
    doc: "ms follows grad * grad; mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom.",
    inputs: &[
        "var: Ref(T)",
        "ms: Ref(T)",
        "mom: Ref(T)",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 7),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_RMS_PROP: Op = Op {
    name: "ResourceApplyRMSProp",
    inputs: &[
        "var: resource",
        "ms: resource",
        "mom: resource",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &[],
    ..APPLY_RMS_PROP
};

pub static SPARSE_APPLY_RMS_PROP: Op = Op {
    name: "SparseApplyRMSProp",
    doc: "As ApplyRMSProp, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "ms: Ref(T)",
        "mom: Ref(T)",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 7),
    ..APPLY_RMS_PROP
};

pub static RESOURCE_SPARSE_APPLY_RMS_PROP: Op = Op {
    name: "ResourceSparseApplyRMSProp",
    inputs: &[
        "var: resource",
        "ms: resource",
        "mom: resource",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    outputs: &[],
    ..SPARSE_APPLY_RMS_PROP
};

pub static APPLY_CENTERED_RMS_PROP: Op = Op {
    name: "ApplyCenteredRMSProp",
    doc: "ms follows grad * grad and mg follows grad; mom = momentum * mom + lr * grad / sqrt(ms - mg * mg + epsilon); var -= mom.",
    inputs: &[
        "var: Ref(T)",
        "mg: Ref(T)",
        "ms: Ref(T)",
        "mom: Ref(T)",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 4, 8),
    kernels: cpu!(centered: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_CENTERED_RMS_PROP: Op = Op {
    name: "ResourceApplyCenteredRMSProp",
    inputs: &[
        "var: resource",
        "mg: resource",
        "ms: resource",
        "mom: resource",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &[],
    ..APPLY_CENTERED_RMS_PROP
};

pub static SPARSE_APPLY_CENTERED_RMS_PROP: Op = Op {
    name: "SparseApplyCenteredRMSProp",
    doc: "As ApplyCenteredRMSProp, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "mg: Ref(T)",
        "ms: Ref(T)",
        "mom: Ref(T)",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 4, 8),
    ..APPLY_CENTERED_RMS_PROP
};

pub static RESOURCE_SPARSE_APPLY_CENTERED_RMS_PROP: Op = Op {
    name: "ResourceSparseApplyCenteredRMSProp",
    inputs: &[
        "var: resource",
        "mg: resource",
        "ms: resource",
        "mom: resource",
        "lr: T",
        "rho: T",
        "momentum: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    outputs: &[],
    ..SPARSE_APPLY_CENTERED_RMS_PROP
};

const SCALARS: [&str; 4] = ["lr", "rho", "momentum", "epsilon"];

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 7);
    let [lr, rho, momentum, epsilon] = update.scalars::<T, 4>(c, SCALARS)?;
    let rest = T::ONE.sub(rho);
    update.apply(c, move |[var, ms, mom], grad: T| {
        let ms = ms.add(grad.mul(grad).sub(ms).mul(rest));
        let mom = mom.mul(momentum).add(grad.mul(lr).div(ms.add(epsilon).root()));
        [var.sub(mom), ms, mom]
    })
}

fn centered<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<4>::new(c, 8);
    let [lr, rho, momentum, epsilon] = update.scalars::<T, 4>(c, SCALARS)?;
    let rest = T::ONE.sub(rho);
    update.apply(c, move |[var, mg, ms, mom], grad: T| {
        let ms = ms.add(grad.mul(grad).sub(ms).mul(rest));
        let mg = mg.add(grad.sub(mg).mul(rest));
        let variance = ms.sub(mg.mul(mg));
        let mom = mom.mul(momentum).add(grad.mul(lr).div(variance.add(epsilon).root()));
        [var.sub(mom), mg, ms, mom]
    })
}
