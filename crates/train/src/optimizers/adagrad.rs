//! Adagrad: learning rates that fall with each weight's squared gradients.

use super::{Optimizer, Setting, Slot, Update, not_negative};
use thalweg_client::{IndexedSlices, Operation, Output, Result};

/// Duchi's Adagrad.
pub struct Adagrad {
    rate: Setting,
    initial_accumulator: f64,
}

impl Adagrad {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adagrad { rate: rate.into(), initial_accumulator: 0.1 }
    }

    /// The initial sum of squared gradients, above 0; 0.1 by default.
    pub fn initial_accumulator(self, value: f64) -> Self {
        Adagrad { initial_accumulator: value, ..self }
    }
}

impl Optimizer for Adagrad {
    fn name(&self) -> &'static str {
        "Adagrad"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("learning_rate", self.rate.clone())]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: self.initial_accumulator }]
    }

    fn check(&self) -> Result<()> {
        not_negative("initial_accumulator", self.initial_accumulator, false)
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyAdagrad").input(u.setting(0)).input(gradient).build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyAdagrad")
            .input(u.setting(0))
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
