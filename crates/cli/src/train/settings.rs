//! Settings of a training run, from flags and defaults.

use super::args::{BatchArgs, RunArgs};
use super::optimizer;
use super::precision::Precision;
use super::program::{Program, Training};
use super::progress::Form;
use super::schedule::Schedule;
use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use thalweg::prelude::*;
use thalweg_core::invalid;

/// The defaults of a program.
pub struct Defaults {
    pub steps: u64,
    pub batch: usize,
    pub rate: f64,
    /// The learning rate decays linearly over this many steps, whatever `--steps` is.
    pub falls_over: Option<u64>,
    pub optimizer: optimizer::Kind,
}

/// Validations in a run, at most, by default.
const VALIDATIONS: u64 = 50;

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
    /// Of programs with batches.
    pub steps_per_epoch: Option<u64>,
    pub validate_every: u64,
    pub early_stop: Option<u64>,
    pub schedule: Schedule,
    pub optimizer: optimizer::Kind,
    pub precision: Precision,
    pub seed: i64,
    pub threads: usize,
    pub svg: Option<PathBuf>,
    pub export: Option<PathBuf>,
    pub logdir: Option<PathBuf>,
    pub resume: bool,
    pub overwrite: bool,
    pub save_every: Option<u64>,
    pub profile: bool,
    pub form: Form,
    pub replicas: Option<Replicas>,
}

impl Settings {
    pub fn new(run: &RunArgs, batches: Option<&BatchArgs>, program: &dyn Program) -> Outcome<Settings> {
        let defaults = program.defaults();
        let batch = batches.and_then(|b| b.batch).unwrap_or(defaults.batch);
        check_batch(batch, program.examples().max(defaults.batch))?;
        let steps_per_epoch = batches.map(|_| (program.examples().max(1) as u64).div_ceil(batch as u64));
        let epochs = batches.and_then(|b| b.epochs).zip(steps_per_epoch);
        let steps = match epochs {
            Some((epochs, steps)) => epochs.saturating_mul(steps),
            None => run.steps.unwrap_or(defaults.steps),
        };
        let rate = run.lr.unwrap_or(defaults.rate);
        let usual = steps_per_epoch.unwrap_or(1).max(steps / VALIDATIONS);
        let settings = Settings {
            steps,
            batch,
            steps_per_epoch,
            validate_every: batches.and_then(|b| b.validate_every).unwrap_or(usual),
            early_stop: batches.and_then(|b| b.early_stop),
            schedule: Schedule::new(rate, &run.schedule, defaults.falls_over, steps),
            optimizer: run.optimizer.unwrap_or(defaults.optimizer),
            precision: run.precision,
            seed: run.seed,
            threads: run.threads,
            svg: run.svg.clone(),
            export: run.export.clone(),
            logdir: run.logdir.clone(),
            resume: run.resume,
            overwrite: run.overwrite,
            save_every: run.save_every,
            profile: run.profile,
            form: Form::of(run.quiet, run.json),
            replicas: None,
        };
        settings.check()?;
        if settings.precision != Precision::Float && !program.has_products() {
            return Err(Failure::Usage(invalid!(
                "--precision has no effect: the model has no matrix products"
            )));
        }
        Ok(settings)
    }

    fn check(&self) -> Outcome {
        let usage = |text: &str| Err(Failure::Usage(invalid!("{text}")));
        if self.save_every == Some(0) {
            return usage("--save-every must be at least 1");
        }
        if self.validate_every == 0 {
            return usage("--validate-every must be at least 1");
        }
        if self.early_stop == Some(0) {
            return usage("--early-stop must be at least 1");
        }
        if !self.schedule.rate.is_finite() || self.schedule.rate < 0.0 {
            return usage("--lr must be a number, and not negative");
        }
        Ok(())
    }

    /// One training step on this loss.
    pub fn minimize(&self, g: &Scope, loss: &Output, max_norm: Option<f64>) -> Result<Training> {
        self.optimizer.minimize(g, loss, self.schedule.setting(g), max_norm, self.replicas)
    }
}

/// `most`: the size of the training set, or the default batch, which may exceed a small one.
fn check_batch(batch: usize, most: usize) -> Outcome {
    let e = match batch {
        0 => invalid!("--batch must be at least 1"),
        n if n > most => invalid!("--batch {n} is more than the {most} examples of the training set"),
        _ => return Ok(()),
    };
    Err(Failure::Usage(e))
}
