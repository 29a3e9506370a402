//! `ApplyMomentum`, `ResourceApplyMomentum`, `ResourceApplyKerasMomentum`: steps that keep some of their speed.

use super::slots::{scalar, shapes, update};
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

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (lr, momentum) = (scalar::<T>(c, 2, "lr")?, scalar::<T>(c, 4, "momentum")?);
    let nesterov = c.attrs().bool("use_nesterov")?;
    update(c, 3, |[var, accum], grad: &[T]| {
        for ((x, a), g) in var.iter_mut().zip(accum).zip(grad) {
            *a = a.mul(momentum).add(*g);
            let step = if nesterov { g.mul(lr).add(a.mul(momentum).mul(lr)) } else { a.mul(lr) };
            *x = x.sub(step);
        }
    })
}

pub static RESOURCE_APPLY_KERAS_MOMENTUM: Op = Op {
    name: "ResourceApplyKerasMomentum",
    doc: "accum = accum * momentum - lr * grad; var += accum.",
    kernels: cpu!(keras: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
    ..RESOURCE_APPLY_MOMENTUM
};

fn keras<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (lr, momentum) = (scalar::<T>(c, 2, "lr")?, scalar::<T>(c, 4, "momentum")?);
    let nesterov = c.attrs().bool("use_nesterov")?;
    update(c, 3, |[var, accum], grad: &[T]| {
        for ((x, a), g) in var.iter_mut().zip(accum).zip(grad) {
            *a = a.mul(momentum).sub(g.mul(lr));
            let step = if nesterov { a.mul(momentum).sub(g.mul(lr)) } else { *a };
            *x = x.add(step);
        }
    })
}
