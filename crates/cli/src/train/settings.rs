//! What a training run is told, or goes by if not told.

use super::program::Training;
use super::{Args, optimizer};
use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use thalweg::prelude::*;
use thalweg_core::invalid;

/// What a program goes by unless told otherwise.
pub struct Defaults {
    pub steps: u64,
    pub batch: usize,
    pub rate: f64,
    pub optimizer: optimizer::Kind,
}

/// Replicas that train synchronously: an update is of the first `aggregate` gradients of all replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replicas {
    pub aggregate: usize,
    pub total: usize,
    /// Which of them this one is.
    pub number: usize,
}

pub struct Settings {
    pub steps: u64,
    pub batch: usize,
    pub rate: f64,
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
    pub fn new(args: &Args, defaults: Defaults) -> Outcome<Settings> {
        let settings = Settings {
            steps: args.steps.unwrap_or(defaults.steps),
            batch: args.batch.unwrap_or(defaults.batch),
            rate: args.lr.unwrap_or(defaults.rate),
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
        self.optimizer.minimize(g, loss, self.rate, max_norm, self.replicas)
    }
}
