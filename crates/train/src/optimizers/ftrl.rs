//! FTRL: follow the regularised leader, the method of large sparse linear models.

use super::update::cast;
use super::{Optimizer, Setting, Slot, Update, not_negative};
use thalweg_client::{IndexedSlices, OpBuilder, Operation, Output, Result};

/// McMahan's FTRL-Proximal.
pub struct Ftrl {
    rate: Setting,
    rate_power: f64,
    initial_accumulator: f64,
    l1: f64,
    l2: f64,
    l2_shrinkage: f64,
    beta: f64,
}

impl Ftrl {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        Ftrl {
            rate: rate.into(),
            rate_power: -0.5,
            initial_accumulator: 0.1,
            l1: 0.0,
            l2: 0.0,
            l2_shrinkage: 0.0,
            beta: 0.0,
        }
    }

    /// The exponent of the learning rate decay; 0 for a constant rate.
    pub fn learning_rate_power(self, power: f64) -> Self {
        Ftrl { rate_power: power, ..self }
    }

    /// The initial sum of squared gradients, above 0; 0.1 by default.
    pub fn initial_accumulator(self, value: f64) -> Self {
        Ftrl { initial_accumulator: value, ..self }
    }

    /// Strengths of the regularisation.
    pub fn regularization(self, l1: f64, l2: f64) -> Self {
        Ftrl { l1, l2, ..self }
    }

    /// A magnitude penalty on weights, where `l2` is a stabilization penalty.
    pub fn l2_shrinkage(self, strength: f64) -> Self {
        Ftrl { l2_shrinkage: strength, ..self }
    }

    /// The beta of the paper.
    pub fn beta(self, beta: f64) -> Self {
        Ftrl { beta, ..self }
    }

    /// The inputs after the gradient.
    fn finish(&self, u: &Update<'_>, rule: OpBuilder<'_>) -> Operation {
        let rule = rule.input(u.setting(RATE)).input(u.setting(L1)).input(self.l2_with_beta(u));
        let rule = if self.shrinks() { rule.input(u.setting(SHRINKAGE)) } else { rule };
        rule.input(u.setting(POWER)).build()
    }

    fn shrinks(&self) -> bool {
        self.l2_shrinkage > 0.0
    }

    /// The op has no beta: it is equivalent to a larger l2.
    fn l2_with_beta(&self, u: &Update<'_>) -> Output {
        if self.beta == 0.0 {
            return u.setting(L2).clone();
        }
        let (rate, l2) = (u.given(RATE), u.given(L2));
        let number = |v: f64| u.scope.number(v, rate.dtype());
        let g = u.scope;
        let twice = number(2.0) * g.maximum(rate, number(1e-36));
        let more = g.add(cast(g, l2, rate.dtype()), g.div(number(self.beta), twice));
        cast(g, &more, u.variable.dtype())
    }
}

const RATE: usize = 0;
const L1: usize = 1;
const L2: usize = 2;
const SHRINKAGE: usize = 3;
const POWER: usize = 4;

impl Optimizer for Ftrl {
    fn name(&self) -> &'static str {
        "Ftrl"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("l1_regularization_strength", self.l1.into()),
            ("l2_regularization_strength", self.l2.into()),
            ("l2_shrinkage_regularization_strength", self.l2_shrinkage.into()),
            ("learning_rate_power", self.rate_power.into()),
        ]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: self.initial_accumulator }, Slot { initial: 0.0 }]
    }

    fn check(&self) -> Result<()> {
        not_negative("initial_accumulator", self.initial_accumulator, true)?;
        not_negative("the negative of learning_rate_power", -self.rate_power, true)?;
        not_negative("l1", self.l1, true)?;
        not_negative("l2", self.l2, true)?;
        not_negative("l2_shrinkage", self.l2_shrinkage, true)?;
        not_negative("beta", self.beta, true)
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        let op = if self.shrinks() { "ResourceApplyFtrlV2" } else { "ResourceApplyFtrl" };
        self.finish(u, u.rule(op).input(gradient))
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let op = if self.shrinks() { "ResourceSparseApplyFtrlV2" } else { "ResourceSparseApplyFtrl" };
        self.finish(u, u.rule(op).input(&rows.values).input(&rows.indices))
    }
}
