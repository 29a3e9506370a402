//! AdaMax: Adam with a decaying maximum of the gradients in place of the mean square.

use super::moments::{BETA1, BETA2, EPSILON, Moments, RATE};
use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Variable};

/// Kingma and Ba's variant of Adam by the infinity norm.
pub struct AdaMax(Moments);

impl AdaMax {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        AdaMax(Moments::new(rate.into()))
    }

    /// Decay rates of the two moments; 0.9 and 0.999 by default.
    pub fn betas(self, beta1: f64, beta2: f64) -> Self {
        AdaMax(Moments { beta1, beta2, ..self.0 })
    }

    /// Added to the denominator; 1e-8 by default.
    pub fn epsilon(self, epsilon: f64) -> Self {
        AdaMax(Moments { epsilon, ..self.0 })
    }
}

impl Optimizer for AdaMax {
    fn name(&self) -> &'static str {
        "AdaMax"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        self.0.settings()
    }

    fn slots(&self) -> Vec<Slot> {
        Moments::slots()
    }

    fn powers(&self) -> Vec<Power> {
        vec![self.0.beta1_power()]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyAdaMax")
            .input(u.power(0))
            .input(u.setting(RATE))
            .input(u.setting(BETA1))
            .input(u.setting(BETA2))
            .input(u.setting(EPSILON))
            .input(gradient)
            .build()
    }

    /// Only the gradient's rows change, in slots too.
    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let (g, indices) = (u.scope, &rows.indices);
        let one = g.number(1.0, rows.values.dtype());
        let kept = u.slot(0).gather(g, indices) * u.setting(BETA1);
        let m = kept + &rows.values * (&one - u.setting(BETA1));
        let v = g.maximum(u.slot(1).gather(g, indices) * u.setting(BETA2), g.abs(&rows.values));
        let update = |slot: &Variable, rows: &Output| {
            g.op("ResourceScatterUpdate").input(&slot.handle).input(indices).input(rows).build()
        };
        let (update_m, update_v) = (update(u.slot(0), &m), update(u.slot(1), &v));
        let rate = u.setting(RATE) / (one - u.power(0));
        let step = rate * (m / (v + u.setting(EPSILON)));
        let after = g.control_dependencies(&[update_m, update_v]);
        after.op("ResourceScatterSub").input(&u.variable.handle).input(indices).input(step).build()
    }
}
