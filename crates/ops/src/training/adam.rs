//! `ApplyAdam`, `ResourceApplyAdam`: steps scaled by running moments of the gradient (Kingma and Ba, 2014).

use super::elements::Root;
use super::update::{Update, shapes};
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
    kernels: cpu!(run: T in f32, f64, f16, bf16, Complex32, ComplexDouble),
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

fn run<T: Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 9);
    let names = ["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"];
    let [power1, power2, lr, beta1, beta2, epsilon] = update.scalars::<T, 6>(c, names)?;
    let nesterov = c.attrs().bool("use_nesterov")?;
    let (rest1, rest2) = (T::ONE.sub(beta1), T::ONE.sub(beta2));
    let alpha = lr.mul(T::ONE.sub(power2).root()).div(T::ONE.sub(power1));
    update.apply(c, move |[var, m, v], grad: T| {
        let m = m.add(grad.sub(m).mul(rest1));
        let v = v.add(grad.mul(grad).sub(v).mul(rest2));
        let ahead = if nesterov { grad.mul(rest1).add(beta1.mul(m)) } else { m };
        [var.sub(ahead.mul(alpha).div(v.root().add(epsilon))), m, v]
    })
}
