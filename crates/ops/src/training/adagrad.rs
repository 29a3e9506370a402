//! `ApplyAdagrad`, `ApplyAdagradV2` and their resource forms: steps that shrink with the gradients seen so far.

use super::slots::{scalar, shapes, update};
use crate::prelude::*;

pub static APPLY_ADAGRAD: Op = Op {
    name: "ApplyAdagrad",
    doc: "accum += grad * grad; var -= lr * grad / sqrt(accum).",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T"],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "update_slots: bool = true"],
    shape: |c| shapes(c, 2, 3),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADAGRAD: Op = Op {
    name: "ResourceApplyAdagrad",
    inputs: &["var: resource", "accum: resource", "lr: T", "grad: T"],
    outputs: &[],
    ..APPLY_ADAGRAD
};

pub static APPLY_ADAGRAD_V2: Op = Op {
    name: "ApplyAdagradV2",
    doc: "accum += grad * grad; var -= lr * grad / (sqrt(accum) + epsilon).",
    inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "epsilon: T", "grad: T"],
    shape: |c| shapes(c, 2, 4),
    ..APPLY_ADAGRAD
};

pub static RESOURCE_APPLY_ADAGRAD_V2: Op = Op {
    name: "ResourceApplyAdagradV2",
    inputs: &["var: resource", "accum: resource", "lr: T", "epsilon: T", "grad: T"],
    outputs: &[],
    ..APPLY_ADAGRAD_V2
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    step(c, |x: T| x.via(f32::sqrt, f64::sqrt))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    step(c, |x: T| x.map(|z| z.sqrt()))
}

fn step<T: Number>(c: &mut OpCall<'_>, root: fn(T) -> T) -> Result<()> {
    let lr = scalar::<T>(c, 2, "lr")?;
    let (epsilon, grad) = if c.inputs.len() == 5 { (scalar::<T>(c, 3, "epsilon")?, 4) } else { (T::ZERO, 3) };
    let accumulate = c.attrs().bool("update_slots")?;
    update(c, grad, |[var, accum], grad: &[T]| {
        for ((x, a), g) in var.iter_mut().zip(accum).zip(grad) {
            if accumulate {
                *a = a.add(g.mul(*g));
            }
            *x = x.sub(g.mul(lr).div(root(*a).add(epsilon)));
        }
    })
}
