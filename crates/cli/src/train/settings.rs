//! Settings of a training run, from flags and defaults.

use super::program::{Program, Training};
use super::{Args, optimizer};
use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use thalweg::prelude::*;
use thalweg::train::get_or_create_global_step;
use thalweg::train::optimizers::Setting;
use thalweg::train::schedules::{Polynomial, polynomial_decay};
use thalweg_core::invalid;

/// The defaults of a program.
pub struct Defaults {
    pub steps: u64,
    pub batch: usize,
    pub rate: f64,
    /// The learning rate decays linearly to `LAST_RATE` of its value over this many steps. It is a function of the step alone, not of
    /// `--steps`: a resumed run continues as one that was not interrupted.
    pub falls_over: Option<u64>,
    pub optimizer: optimizer::Kind,
}

/// The final learning rate, relative to the first.
const LAST_RATE: f64 = 0.01;

/// Replicas that train synchronously: an update uses the first `aggregate` gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replicas {
    pub aggregate: usize,
    pub total: usize,
    /// The index of this one.
    pub number: usize,
}

pub struct Settings {
    pub steps: u64,
    pub batch: usize,
    pub rate: f64,
    pub falls_over: Option<u64>,
    pub optimizer: optimizer::Kind,
    pub seed: i64,
    pub threads: usize,
    pub svg: Option<PathBuf>,
    pub logdir: Option<PathBuf>,
    pub resume: bool,
    pub save_every: Option<u64>,
    pub replicas: Option<Replicas>,
}

impl Settings {
    pub fn new(args: &Args, program: &dyn Program) -> Outcome<Settings> {
        let defaults = program.defaults();
        let settings = Settings {
            steps: args.steps.unwrap_or(defaults.steps),
            batch: args.batch.unwrap_or(defaults.batch),
            rate: args.lr.unwrap_or(defaults.rate),
            falls_over: defaults.falls_over,
            optimizer: args.optimizer.unwrap_or(defaults.optimizer),
            seed: args.seed,
            threads: args.threads,
            svg: args.svg.clone(),
            logdir: args.logdir.clone(),
            resume: args.resume,
            save_every: args.save_every,
            replicas: None,
        };
        let usage = |text: &str| Err(Failure::Usage(invalid!("{text}")));
        // The default batch may exceed a small data set.
        let examples = program.examples().max(defaults.batch);
        if settings.batch > examples {
            return usage(&format!(
                "--batch {} is more than the {examples} examples of the training set",
                settings.batch
            ));
        }
        if settings.batch == 0 {
            return usage("--batch must be at least 1");
        }
        if settings.save_every == Some(0) {
            return usage("--save-every must be at least 1");
        }
        if !settings.rate.is_finite() || settings.rate < 0.0 {
            return usage("--lr must be a number, and not negative");
        }
        Ok(settings)
    }

    /// One training step on this loss.
    pub fn minimize(&self, g: &Scope, loss: &Output, max_norm: Option<f64>) -> Result<Training> {
        let rate = match self.falls_over {
            None => self.rate.into(),
            Some(steps) => {
                let to = Polynomial { end_rate: self.rate * LAST_RATE, ..Default::default() };
                let step = get_or_create_global_step(g);
                Setting::from(&polynomial_decay(g, self.rate, &step.value, steps as f64, to))
            }
        };
        self.optimizer.minimize(g, loss, rate, max_norm, self.replicas)
    }

    /// The learning rate as printed.
    pub fn rate_text(&self) -> String {
        match self.falls_over {
            None => self.rate.to_string(),
            Some(steps) => format!("{}, falling to {} over {steps} steps", self.rate, self.rate * LAST_RATE),
        }
    }
}
