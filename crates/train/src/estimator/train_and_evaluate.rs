//! Training with evaluations in between.

use super::config::Estimator;
use super::evaluate::Evaluation;
use super::input::Input;
use super::spec::Model;
use crate::hooks::{Hook, StopAtStepHook};
use thalweg_client::{Result, Scope};

/// How to train.
pub struct TrainSpec<'a> {
    pub input: &'a dyn Fn(&Scope) -> Input,
    pub max_steps: u64,
    /// Makes the hooks of each stretch of training: early stopping, for instance.
    pub hooks: &'a dyn Fn() -> Vec<Box<dyn Hook + 'a>>,
}

/// How to evaluate in between.
pub struct EvalSpec<'a> {
    pub input: &'a dyn Fn(&Scope) -> Input,
    /// Batches; all, if it is not said.
    pub steps: Option<u64>,
    /// Steps of training between evaluations.
    pub every_steps: u64,
}

impl<'a> TrainSpec<'a> {
    pub fn new(input: &'a dyn Fn(&Scope) -> Input, max_steps: u64) -> TrainSpec<'a> {
        TrainSpec { input, max_steps, hooks: &|| Vec::new() }
    }
}

impl<'a> EvalSpec<'a> {
    pub fn new(input: &'a dyn Fn(&Scope) -> Input, every_steps: u64) -> EvalSpec<'a> {
        EvalSpec { input, steps: None, every_steps }
    }
}

impl<M: Model> Estimator<M> {
    /// Trains and evaluates in turn until `max_steps`, or until training ends before its stretch does: by a hook, or with its input.
    /// Each stretch begins its input anew. The last evaluation is given.
    pub fn train_and_evaluate(&self, train: &TrainSpec<'_>, eval: &EvalSpec<'_>) -> Result<Evaluation> {
        let mut next = eval.every_steps.max(1);
        loop {
            let until = next.min(train.max_steps);
            let mut hooks: Vec<Box<dyn Hook + '_>> = vec![Box::new(StopAtStepHook::last_step(until))];
            hooks.extend((train.hooks)());
            let trained = self.train_with(train.input, hooks)?;
            let at = u64::try_from(trained.global_step).unwrap_or(0);
            let found = self.evaluate_with(eval.input, eval.steps, None)?;
            if at < until || at >= train.max_steps {
                return Ok(found);
            }
            next = at.saturating_add(eval.every_steps.max(1));
        }
    }
}
