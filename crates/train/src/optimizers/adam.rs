//! Adam: momentum, with steps scaled by a running mean of squared gradients.

use super::moments::{BETA1, BETA2, EPSILON, Moments, RATE};
use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Scope, Variable};

pub struct Adam(Moments);

impl Adam {
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adam(Moments::new(rate.into()))
    }

    pub fn betas(self, beta1: f64, beta2: f64) -> Self {
        Adam(Moments { beta1, beta2, ..self.0 })
    }

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

    /// As TensorFlow does it: the running means of all rows decay, the rows named take in their gradients, and then the whole
    /// variable moves.
    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let g = u.scope;
        let one = g.number(1.0, rows.values.dtype());
        let root = g.op("Sqrt").input(&(&one - u.power(1))).output();
        let rate = &(u.setting(RATE) * &root) / &(&one - u.power(0));
        let squared = &rows.values * &rows.values;
        let m = take_in(g, u.slot(0), u.setting(BETA1), &(&rows.values * &(&one - u.setting(BETA1))), rows);
        let v = take_in(g, u.slot(1), u.setting(BETA2), &(&squared * &(&one - u.setting(BETA2))), rows);
        let step = &(&rate * &m) / &(&g.op("Sqrt").input(&v).output() + u.setting(EPSILON));
        u.op("AssignSubVariableOp").input(&step).build()
    }
}

/// `slot = slot * decay`, then `slot[rows] += values`; the value after both.
fn take_in(g: &Scope, slot: &Variable, decay: &Output, values: &Output, rows: &IndexedSlices) -> Output {
    let decayed = &slot.read(g) * decay;
    let decay = g.op("AssignVariableOp").input(&slot.handle).input(&decayed).build();
    let then = g.control_dependencies(&[&decay]);
    let add = then.op("ResourceScatterAdd").input(&slot.handle).input(&rows.indices).input(values).build();
    slot.read(&g.control_dependencies(&[&add]))
}
