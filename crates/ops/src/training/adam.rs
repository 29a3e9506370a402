//! `ApplyAdam`, `ResourceApplyAdam`: steps scaled by running moments of the gradient (Kingma and Ba, 2014).

use super::slots::{scalar, shapes, update};
use crate::prelude::*;

pub static APPLY_ADAM: Op = Op {
    name: "ApplyAdam",
    doc: "m and v follow the gradient and its square; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).",
    inputs: &[
        "var: Ref(T)",
        "m: Ref(T)",
        "v: Ref(T)",
        "beta1_power: T",
        "beta2_power: T",
        "lr: T",
        "beta1: T",
        "beta2: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "use_nesterov: bool = false"],
    shape: |c| shapes(c, 3, 9),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADAM: Op = Op {
    name: "ResourceApplyAdam",
    inputs: &[
        "var: resource",
        "m: resource",
        "v: resource",
        "beta1_power: T",
        "beta2_power: T",
        "lr: T",
        "beta1: T",
        "beta2: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &[],
    ..APPLY_ADAM
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    step(c, |x: T| x.via(f32::sqrt, f64::sqrt))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    step(c, |x: T| x.map(|z| z.sqrt()))
}

fn step<T: Number>(c: &mut OpCall<'_>, root: fn(T) -> T) -> Result<()> {
    let (power1, power2) = (scalar::<T>(c, 3, "beta1_power")?, scalar::<T>(c, 4, "beta2_power")?);
    let (lr, beta1, beta2) =
        (scalar::<T>(c, 5, "lr")?, scalar::<T>(c, 6, "beta1")?, scalar::<T>(c, 7, "beta2")?);
    let epsilon = scalar::<T>(c, 8, "epsilon")?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    let (rest1, rest2) = (T::ONE.sub(beta1), T::ONE.sub(beta2));
    let alpha = lr.mul(root(T::ONE.sub(power2))).div(T::ONE.sub(power1));
    update(c, 9, |[var, m, v], grad: &[T]| {
        for (((x, m), v), g) in var.iter_mut().zip(m).zip(v).zip(grad) {
            *m = m.add(g.sub(*m).mul(rest1));
            *v = v.add(g.mul(*g).sub(*v).mul(rest2));
            let ahead = if nesterov { g.mul(rest1).add(beta1.mul(*m)) } else { *m };
            *x = x.sub(ahead.mul(alpha).div(root(*v).add(epsilon)));
        }
    })
}
