//! Proximal gradient descent: gradient descent whose weights are drawn towards zero by l1 and l2 terms.

use super::{Optimizer, Setting, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

/// Gradient descent with proximal l1 and l2 regularisation.
pub struct ProximalGradientDescent {
    rate: Setting,
    l1: Setting,
    l2: Setting,
}

impl ProximalGradientDescent {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        ProximalGradientDescent { rate: rate.into(), l1: 0.0.into(), l2: 0.0.into() }
    }

    /// Strengths of the regularisation.
    pub fn regularization(self, l1: impl Into<Setting>, l2: impl Into<Setting>) -> Self {
        ProximalGradientDescent { l1: l1.into(), l2: l2.into(), ..self }
    }
}

impl Optimizer for ProximalGradientDescent {
    fn name(&self) -> &'static str {
        "ProximalGradientDescent"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("l1_regularization_strength", self.l1.clone()),
            ("l2_regularization_strength", self.l2.clone()),
        ]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyProximalGradientDescent")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(gradient)
            .build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyProximalGradientDescent")
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
