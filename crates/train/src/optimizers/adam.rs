//! Adam: momentum, with steps scaled by a running mean of squared gradients.

use super::moments::{BETA1, BETA2, EPSILON, Moments, RATE};
use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Scope, Variable};

/// Kingma and Ba's Adam.
pub struct Adam(Moments);

impl Adam {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adam(Moments::new(rate.into()))
    }

    /// Decay rates of the two moments; 0.9 and 0.999 by default.
    pub fn betas(self, beta1: f64, beta2: f64) -> Self {
        Adam(Moments { beta1, beta2, ..self.0 })
    }

    /// Added to the denominator; 1e-8 by default.
    pub fn epsilon(self, epsilon: f64) -> Self {
        Adam(Moments { epsilon, ..self.0 })
    }
}

impl Optimizer for Adam {
    fn name(&self) -> &'static str {
        "Adam"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        self.0.settings()
    }

    fn slots(&self) -> Vec<Slot> {
        Moments::slots()
    }

    fn powers(&self) -> Vec<Power> {
        vec![self.0.beta1_power(), self.0.beta2_power()]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyAdam")
            .input(u.power(0))
            .input(u.power(1))
            .input(u.setting(RATE))
            .input(u.setting(BETA1))
            .input(u.setting(BETA2))
            .input(u.setting(EPSILON))
            .input(gradient)
            .build()
    }

    /// As TensorFlow does it: the running means of all rows decay, gradients are added to those of the rows named, and then the whole
    /// variable is updated.
    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let g = u.scope;
        let one = g.number(1.0, rows.values.dtype());
        let root = g.sqrt(&one - u.power(1));
        let rate = u.setting(RATE) * root / (&one - u.power(0));
        let squared = &rows.values * &rows.values;
        let m = decay_and_add(g, u.slot(0), u.setting(BETA1), &rows.values * (&one - u.setting(BETA1)), rows);
        let v = decay_and_add(g, u.slot(1), u.setting(BETA2), squared * (&one - u.setting(BETA2)), rows);
        let step = rate * m / (g.sqrt(v) + u.setting(EPSILON));
        u.op("AssignSubVariableOp").input(step).build()
    }
}

/// `slot = slot * decay`, then `slot[rows] += values`; the value after both.
fn decay_and_add(g: &Scope, slot: &Variable, decay: &Output, values: Output, rows: &IndexedSlices) -> Output {
    let decayed = slot.read(g) * decay;
    let decay = g.op("AssignVariableOp").input(&slot.handle).input(decayed).build();
    let then = g.control_dependencies(&[&decay]);
    let add = then.op("ResourceScatterAdd").input(&slot.handle).input(&rows.indices).input(values).build();
    slot.read(&g.control_dependencies(&[&add]))
}
