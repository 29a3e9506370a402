//! Training with evaluations in between.

use super::config::Estimator;
use super::evaluate::Evaluation;
use super::input::{Input, IntoInput};
use super::spec::Model;
use crate::hooks::{Hook, StopAtStepHook};
use thalweg_client::{Result, Scope};

type InputFn<'a> = Box<dyn Fn(&Scope) -> Result<Input> + 'a>;

/// How to train.
pub struct TrainSpec<'a> {
    input: InputFn<'a>,
    max_steps: u64,
    hooks: Vec<Box<dyn Fn() -> Box<dyn Hook + 'a> + 'a>>,
}

/// How to evaluate in between.
pub struct EvalSpec<'a> {
    input: InputFn<'a>,
    steps: Option<u64>,
    every_steps: u64,
}

impl<'a> TrainSpec<'a> {
    /// Training ends when the global step is `max_steps`.
    pub fn new<I: IntoInput>(input: impl Fn(&Scope) -> I + 'a, max_steps: u64) -> TrainSpec<'a> {
        TrainSpec { input: Box::new(move |g| input(g).into_input()), max_steps, hooks: Vec::new() }
    }

    /// Adds a hook, made by this function for each phase of training: early stopping, for instance.
    pub fn hook<H: Hook + 'a>(mut self, make: impl Fn() -> H + 'a) -> TrainSpec<'a> {
        self.hooks.push(Box::new(move || Box::new(make())));
        self
    }
}

impl<'a> EvalSpec<'a> {
    /// An evaluation on all of the input after each `every_steps` steps of training.
    pub fn new<I: IntoInput>(input: impl Fn(&Scope) -> I + 'a, every_steps: u64) -> EvalSpec<'a> {
        let every_steps = every_steps.max(1);
        EvalSpec { input: Box::new(move |g| input(g).into_input()), steps: None, every_steps }
    }

    /// On `steps` batches only.
    pub fn steps(mut self, batches: u64) -> EvalSpec<'a> {
        self.steps = Some(batches);
        self
    }
}

impl<M: Model> Estimator<M> {
    /// Alternates training and evaluation until `max_steps`, or until a hook or the end of the input stops training earlier.
    /// Each phase of training restarts its input. Returns the last evaluation.
    pub fn train_and_evaluate(&self, train: &TrainSpec<'_>, eval: &EvalSpec<'_>) -> Result<Evaluation> {
        let mut next = eval.every_steps;
        loop {
            let until = next.min(train.max_steps);
            let mut hooks: Vec<Box<dyn Hook + '_>> = vec![Box::new(StopAtStepHook::last_step(until))];
            for make in &train.hooks {
                hooks.push(make());
            }
            let trained = self.train_with(&train.input, hooks)?;
            let at = u64::try_from(trained.global_step).unwrap_or(0);
            let found = self.evaluate_with(&eval.input, eval.steps, None)?;
            if at < until || at >= train.max_steps {
                return Ok(found);
            }
            next = at.saturating_add(eval.every_steps);
        }
    }
}
