//! RMSProp: steps scaled by a running mean of squared gradients, or, centered, by their variance.

use super::{Optimizer, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, OpBuilder, Operation, Output};

/// Hinton's RMSProp.
pub struct RMSProp {
    rate: Setting,
    decay: Setting,
    momentum: Setting,
    epsilon: Setting,
    centered: bool,
}

impl RMSProp {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        let (decay, momentum, epsilon) = (0.9.into(), 0.0.into(), 1e-10.into());
        RMSProp { rate: rate.into(), decay, momentum, epsilon, centered: false }
    }

    /// How much of the running means a step keeps.
    pub fn decay(self, decay: impl Into<Setting>) -> Self {
        RMSProp { decay: decay.into(), ..self }
    }

    /// The part of the last step that is added to the next; 0 by default.
    pub fn momentum(self, momentum: impl Into<Setting>) -> Self {
        RMSProp { momentum: momentum.into(), ..self }
    }

    /// Added under the square root; 1e-10 by default.
    pub fn epsilon(self, epsilon: impl Into<Setting>) -> Self {
        RMSProp { epsilon: epsilon.into(), ..self }
    }

    /// Scales by the variance of the gradients.
    pub fn centered(self) -> Self {
        RMSProp { centered: true, ..self }
    }

    /// The rule with its slots and settings. TensorFlow numbers the mean gradient after the mean square, but its rule takes it first.
    fn rule<'s>(&self, u: &'s Update<'_>, plain: &'s str, centered: &'s str) -> OpBuilder<'s> {
        let rule = match self.centered {
            false => u.rule(plain),
            true => u.rule_with(centered, &[u.slot(1), u.slot(0), u.slot(2)]),
        };
        (0..4).fold(rule, |rule, i| rule.input(u.setting(i)))
    }
}

impl Optimizer for RMSProp {
    fn name(&self) -> &'static str {
        "RMSProp"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("decay", self.decay.clone()),
            ("momentum", self.momentum.clone()),
            ("epsilon", self.epsilon.clone()),
        ]
    }

    fn slots(&self) -> Vec<Slot> {
        let (square, zero) = (Slot { initial: 1.0 }, Slot { initial: 0.0 });
        if self.centered { vec![square, zero, zero] } else { vec![square, zero] }
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        self.rule(u, "ResourceApplyRMSProp", "ResourceApplyCenteredRMSProp").input(gradient).build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        self.rule(u, "ResourceSparseApplyRMSProp", "ResourceSparseApplyCenteredRMSProp")
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
