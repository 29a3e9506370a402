//! Momentum: each step adds a part of the one before. Nesterov's form uses the gradient after that part.

use super::{Optimizer, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

/// Gradient descent with momentum.
pub struct Momentum {
    rate: Setting,
    momentum: Setting,
    nesterov: bool,
}

impl Momentum {
    /// With a learning rate and the part of the last step that is added to the next.
    pub fn new(rate: impl Into<Setting>, momentum: impl Into<Setting>) -> Self {
        Momentum { rate: rate.into(), momentum: momentum.into(), nesterov: false }
    }

    /// Nesterov's form.
    pub fn nesterov(self) -> Self {
        Momentum { nesterov: true, ..self }
    }
}

impl Optimizer for Momentum {
    fn name(&self) -> &'static str {
        "Momentum"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("learning_rate", self.rate.clone()), ("momentum", self.momentum.clone())]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: 0.0 }]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyMomentum")
            .input(u.setting(0))
            .input(gradient)
            .input(u.setting(1))
            .attr("use_nesterov", self.nesterov)
            .build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyMomentum")
            .input(u.setting(0))
            .input(&rows.values)
            .input(&rows.indices)
            .input(u.setting(1))
            .attr("use_nesterov", self.nesterov)
            .build()
    }
}
