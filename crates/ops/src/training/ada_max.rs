//! `ApplyAdaMax`, `ResourceApplyAdaMax`: Adam with the infinity norm (Kingma and Ba, 2014).

use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_ADA_MAX: Op = Op {
    name: "ApplyAdaMax",
    doc: "m follows the gradient; v = max(beta2 * v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon).",
    inputs: &[
        "var: Ref(T)",
        "m: Ref(T)",
        "v: Ref(T)",
        "beta1_power: T",
        "lr: T",
        "beta1: T",
        "beta2: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: |c| shapes(c, 3, 8),
    kernels: cpu!(run: T in f32, f64, f16),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_ADA_MAX: Op = Op {
    name: "ResourceApplyAdaMax",
    inputs: &[
        "var: resource",
        "m: resource",
        "v: resource",
        "beta1_power: T",
        "lr: T",
        "beta1: T",
        "beta2: T",
        "epsilon: T",
        "grad: T",
    ],
    outputs: &[],
    ..APPLY_ADA_MAX
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 8);
    let names = ["beta1_power", "lr", "beta1", "beta2", "epsilon"];
    let [power1, lr, beta1, beta2, epsilon] = update.scalars::<T, 5>(c, names)?;
    let (rest1, rate) = (T::ONE.sub(beta1), lr.div(T::ONE.sub(power1)));
    update.apply(c, move |[var, m, v], grad: T| {
        let m = m.add(grad.sub(m).mul(rest1));
        let v = beta2.mul(v).larger(grad.absolute());
        [var.sub(rate.mul(m.div(v.add(epsilon)))), m, v]
    })
}
