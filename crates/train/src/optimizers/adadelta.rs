//! Adadelta: steps scaled by the RMS of earlier steps.

use super::{Optimizer, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

/// Zeiler's Adadelta.
pub struct Adadelta {
    rate: Setting,
    rho: Setting,
    epsilon: Setting,
}

impl Adadelta {
    /// With the rate 1 it is the method of the paper.
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adadelta { rate: rate.into(), rho: 0.95.into(), epsilon: 1e-8.into() }
    }

    /// Decay rate of the running means; 0.95 by default.
    pub fn rho(self, rho: impl Into<Setting>) -> Self {
        Adadelta { rho: rho.into(), ..self }
    }

    /// Added under the square roots; 1e-8 by default.
    pub fn epsilon(self, epsilon: impl Into<Setting>) -> Self {
        Adadelta { epsilon: epsilon.into(), ..self }
    }
}

impl Optimizer for Adadelta {
    fn name(&self) -> &'static str {
        "Adadelta"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("lr", self.rate.clone()), ("rho", self.rho.clone()), ("epsilon", self.epsilon.clone())]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: 0.0 }, Slot { initial: 0.0 }]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyAdadelta")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(gradient)
            .build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyAdadelta")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
