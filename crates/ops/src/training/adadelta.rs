//! `ApplyAdadelta` and its other forms: steps in proportion to the steps before (Zeiler, 2012).

use super::elements::Root;
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_ADADELTA: Op = Op {
    name: "ApplyAdadelta",
    doc: "accum follows grad * grad; update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; var -= lr * update; accum_update follows update * update.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "accum_update: Ref(T)",
        "lr: T",
        "rho: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 6),
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADADELTA: Op = Op {
    name: "ResourceApplyAdadelta",
    inputs: &[
        "var: resource",
        "accum: resource",
        "accum_update: resource",
        "lr: T",
        "rho: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &[],
    ..APPLY_ADADELTA
};

pub static SPARSE_APPLY_ADADELTA: Op = Op {
    name: "SparseApplyAdadelta",
    doc: "As ApplyAdadelta, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "accum_update: Ref(T)",
        "lr: T",
        "rho: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 6),
    ..APPLY_ADADELTA
};

pub static RESOURCE_SPARSE_APPLY_ADADELTA: Op = Op {
    name: "ResourceSparseApplyAdadelta",
    inputs: &[
        "var: resource",
        "accum: resource",
        "accum_update: resource",
        "lr: T",
        "rho: T",
        "epsilon: T",
        "grad: T",
        "indices: Tindices",
    ],
    outputs: &[],
    ..SPARSE_APPLY_ADADELTA
};

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 6);
    let [lr, rho, epsilon] = update.scalars::<T, 3>(c, ["lr", "rho", "epsilon"])?;
    let rest = T::ONE.sub(rho);
    let follow = |mean: T, x: T| mean.mul(rho).add(x.mul(x).mul(rest));
    update.apply(c, move |[var, accum, accum_update], grad: T| {
        let accum = follow(accum, grad);
        let step = accum_update.add(epsilon).root().div(accum.add(epsilon).root()).mul(grad);
        [var.sub(step.mul(lr)), accum, follow(accum_update, step)]
    })
}
