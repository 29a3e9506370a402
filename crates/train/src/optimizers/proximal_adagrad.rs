//! Proximal Adagrad: Adagrad whose weights are drawn towards zero by l1 and l2 terms.

use super::{Optimizer, Setting, Slot, Update, not_negative};
use thalweg_client::{IndexedSlices, Operation, Output, Result};

/// Adagrad with proximal l1 and l2 regularisation.
pub struct ProximalAdagrad {
    rate: Setting,
    l1: Setting,
    l2: Setting,
    initial_accumulator: f64,
}

impl ProximalAdagrad {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        ProximalAdagrad { rate: rate.into(), l1: 0.0.into(), l2: 0.0.into(), initial_accumulator: 0.1 }
    }

    /// Strengths of the regularisation.
    pub fn regularization(self, l1: impl Into<Setting>, l2: impl Into<Setting>) -> Self {
        ProximalAdagrad { l1: l1.into(), l2: l2.into(), ..self }
    }

    /// The initial sum of squared gradients, above 0; 0.1 by default.
    pub fn initial_accumulator(self, value: f64) -> Self {
        ProximalAdagrad { initial_accumulator: value, ..self }
    }
}

impl Optimizer for ProximalAdagrad {
    fn name(&self) -> &'static str {
        "ProximalAdagrad"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("l1_regularization_strength", self.l1.clone()),
            ("l2_regularization_strength", self.l2.clone()),
        ]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: self.initial_accumulator }]
    }

    fn check(&self) -> Result<()> {
        not_negative("initial_accumulator", self.initial_accumulator, false)
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyProximalAdagrad")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(gradient)
            .build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyProximalAdagrad")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
