//! AdagradDA: Adagrad by dual averaging, which keeps the weights of linear models sparse.

use super::update::cast;
use super::{Optimizer, Setting, Slot, Update, not_negative};
use thalweg_client::{DataType, IndexedSlices, Operation, Output, Result, Variable};

/// Adagrad by dual averaging.
pub struct AdagradDA {
    rate: Setting,
    global_step: Variable,
    l1: f64,
    l2: f64,
    initial_accumulator: f64,
}

impl AdagradDA {
    /// The rule weighs the regularisation by the number of the step, so the global step given here must be counted by `minimize`.
    pub fn new(rate: impl Into<Setting>, global_step: &Variable) -> Self {
        AdagradDA {
            rate: rate.into(),
            global_step: global_step.clone(),
            l1: 0.0,
            l2: 0.0,
            initial_accumulator: 0.1,
        }
    }

    /// Strengths of the regularisation.
    pub fn regularization(self, l1: f64, l2: f64) -> Self {
        AdagradDA { l1, l2, ..self }
    }

    /// The initial sum of squared gradients.
    pub fn initial_accumulator(self, value: f64) -> Self {
        AdagradDA { initial_accumulator: value, ..self }
    }

    /// The current step, counted from 1.
    fn step(&self, u: &Update<'_>) -> Output {
        let done = self.global_step.read(u.scope);
        u.scope.add(cast(u.scope, &done, DataType::Int64), u.scope.number(1.0, DataType::Int64))
    }
}

impl Optimizer for AdagradDA {
    fn name(&self) -> &'static str {
        "AdagradDA"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("l1_regularization_strength", self.l1.into()),
            ("l2_regularization_strength", self.l2.into()),
        ]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: 0.0 }, Slot { initial: self.initial_accumulator }]
    }

    fn check(&self) -> Result<()> {
        not_negative("initial_accumulator", self.initial_accumulator, false)
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyAdagradDA")
            .input(gradient)
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(self.step(u))
            .build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.rule("ResourceSparseApplyAdagradDA")
            .input(&rows.values)
            .input(&rows.indices)
            .input(u.setting(0))
            .input(u.setting(1))
            .input(u.setting(2))
            .input(self.step(u))
            .build()
    }
}
