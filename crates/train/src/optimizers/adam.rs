//! Adam: momentum, with steps scaled by a running mean of squared gradients.

use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Scope, Variable};

pub struct Adam {
    rate: Setting,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
}

impl Adam {
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adam { rate: rate.into(), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    pub fn betas(self, beta1: f64, beta2: f64) -> Self {
        Adam { beta1, beta2, ..self }
    }

    pub fn epsilon(self, epsilon: f64) -> Self {
        Adam { epsilon, ..self }
    }
}

const RATE: usize = 0;
const BETA1: usize = 1;
const BETA2: usize = 2;
const EPSILON: usize = 3;

impl Optimizer for Adam {
    fn name(&self) -> &'static str {
        "Adam"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("beta1", self.beta1.into()),
            ("beta2", self.beta2.into()),
            ("epsilon", self.epsilon.into()),
        ]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: 0.0 }, Slot { initial: 0.0 }]
    }

    fn powers(&self) -> Vec<Power> {
        vec![
            Power { name: "beta1_power", initial: self.beta1, factor: BETA1 },
            Power { name: "beta2_power", initial: self.beta2, factor: BETA2 },
        ]
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
