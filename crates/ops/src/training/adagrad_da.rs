//! `ApplyAdagradDA` and its other forms: Adagrad by dual averaging, for sparse weights (Duchi, Hazan and Singer, 2011).

use super::elements::{Root, sign};
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_ADAGRAD_DA: Op = Op {
    name: "ApplyAdagradDA",
    doc: "With g the sum of gradients, gg that of their squares and t the step: var = -sign(g) * lr * max(|g| - l1 * t, 0) / (l2 * t * lr + sqrt(gg)).",
    inputs: &[
        "var: Ref(T)",
        "gradient_accumulator: Ref(T)",
        "gradient_squared_accumulator: Ref(T)",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "global_step: int64",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 3),
    kernels: cpu!(run: T in f32, f64),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADAGRAD_DA: Op = Op {
    name: "ResourceApplyAdagradDA",
    inputs: &[
        "var: resource",
        "gradient_accumulator: resource",
        "gradient_squared_accumulator: resource",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "global_step: int64",
    ],
    outputs: &[],
    ..APPLY_ADAGRAD_DA
};

pub static SPARSE_APPLY_ADAGRAD_DA: Op = Op {
    name: "SparseApplyAdagradDA",
    doc: "As ApplyAdagradDA, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "gradient_accumulator: Ref(T)",
        "gradient_squared_accumulator: Ref(T)",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "global_step: int64",
    ],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 3),
    ..APPLY_ADAGRAD_DA
};

pub static RESOURCE_SPARSE_APPLY_ADAGRAD_DA: Op = Op {
    name: "ResourceSparseApplyAdagradDA",
    inputs: &[
        "var: resource",
        "gradient_accumulator: resource",
        "gradient_squared_accumulator: resource",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "global_step: int64",
    ],
    outputs: &[],
    ..SPARSE_APPLY_ADAGRAD_DA
};

fn run<T: Real + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 3);
    let [lr, l1, l2] = update.scalars::<T, 3>(c, ["lr", "l1", "l2"])?;
    // The last input, an integer.
    let step = T::from_i64(c.scalar::<i64>(c.inputs.len().saturating_sub(1))?);
    update.apply(c, move |[_, sum, squares], grad: T| {
        let (sum, squares) = (sum.add(grad), squares.add(grad.mul(grad)));
        let left =
            if l1 > T::ZERO { sign(sum).mul(sum.absolute().sub(step.mul(l1)).larger(T::ZERO)) } else { sum };
        let var = lr.mul(left.neg()).div(l2.mul(step.mul(lr)).add(squares.root()));
        [var, sum, squares]
    })
}
