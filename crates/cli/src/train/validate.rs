//! Validation: the loss on examples that are held back, during training.

use super::program::{Held, Model, Program};
use super::progress::Measures;
use super::settings::Settings;
use crate::failure::{Failure, Outcome};
use std::path::PathBuf;
use thalweg::Callable;
use thalweg::prelude::*;
use thalweg::train::estimator::EVAL_DIR;
use thalweg::train::hooks::read_eval_metrics;
use thalweg::train::saver::BestSaver;
use thalweg::train::summary::FileWriter;
use thalweg::train::{Patience, Verdict};
use thalweg_core::invalid;
use thalweg_io::scratch::Scratch;

/// The directory of the best checkpoint, inside the logdir.
pub const BEST_DIR: &str = "best";

/// Validates now and then, keeps the best checkpoint, and says when to stop.
pub struct Validator<'a> {
    program: &'a dyn Program,
    settings: &'a Settings,
    measures: Vec<Output>,
    names: Vec<&'static str>,
    feeds: Vec<Output>,
    best: BestSaver,
    events: Option<FileWriter>,
    /// Without a logdir: the best checkpoint of an early stop.
    _temporary: Option<Scratch>,
    /// Where the best checkpoint is kept for the user.
    pub kept: Option<PathBuf>,
}

impl<'a> Validator<'a> {
    /// Adds its nodes to the graph. None if nothing is held back, or nobody would use it.
    pub fn new(
        g: &Scope,
        program: &'a dyn Program,
        settings: &'a Settings,
        model: &Model,
    ) -> Outcome<Option<Validator<'a>>> {
        if program.validation_batch(0, settings)?.is_none() {
            return match settings.early_stop {
                None => Ok(None),
                Some(_) => Err(Failure::Usage(invalid!(
                    "--early-stop needs examples that are held back for validation, and here are none"
                ))),
            };
        }
        let kept = settings.logdir.as_ref().map(|folder| folder.join(BEST_DIR));
        let temporary = kept.is_none().then(Scratch::new);
        let folder =
            kept.clone().or_else(|| temporary.as_ref().map(|t| t.path(BEST_DIR))).unwrap_or_default();
        let patience = match settings.early_stop {
            Some(n) => Patience::lower_is_better().stop_after(n),
            None => Patience::lower_is_better(),
        };
        let events = match &settings.logdir {
            Some(logdir) => Some(FileWriter::new(logdir.join(EVAL_DIR))?),
            None => None,
        };
        Ok(Some(Validator {
            program,
            settings,
            measures: model.measures(),
            names: model.measure_names().collect(),
            feeds: model.feeds.clone(),
            best: BestSaver::new(g, folder, patience),
            events,
            _temporary: temporary,
            kept,
        }))
    }

    /// Takes up the evaluations of the run that is resumed, up to its step.
    pub fn resume(&mut self, first: u64) -> Result<()> {
        let Some(logdir) = self.settings.logdir.as_ref().filter(|_| first > 0) else { return Ok(()) };
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        let earlier = read_eval_metrics(&logdir.join(EVAL_DIR), "loss")?;
        self.best.replay(earlier.into_iter().filter(|(step, _)| *step <= first));
        Ok(())
    }

    pub fn callable(&self, session: &Session) -> Result<Callable> {
        session.callable(&self.feeds.iter().collect::<Vec<_>>(), &self.measures)
    }

    pub fn is_due(&self, done: u64) -> bool {
        done.is_multiple_of(self.settings.validate_every) || done == self.settings.steps
    }

    /// Validates after `done` steps.
    pub fn run(&mut self, session: &Session, step: &Callable, done: u64) -> Result<(Measures, Verdict)> {
        let means = self.means(step)?;
        let at = i64::try_from(done).unwrap_or(i64::MAX);
        if let Some(events) = &mut self.events {
            means.iter().try_for_each(|(name, value)| events.add_scalar(name, *value, at))?;
            events.flush()?;
        }
        let loss = means.first().map_or(f32::NAN, |(_, value)| *value);
        if self.kept.is_none() && self.settings.early_stop.is_none() {
            // Nobody would read the checkpoint.
            self.best.replay([(at, loss)]);
            return Ok((means, Verdict::Worse));
        }
        let verdict = self.best.report(session, at, loss)?;
        Ok((means, verdict))
    }

    /// The means of the measures over all examples that are held back.
    fn means(&self, step: &Callable) -> Result<Measures> {
        let mut sums = vec![0f64; self.names.len()];
        let (mut examples, mut number) = (0usize, 0);
        while let Some(Held { feeds, examples: more }) =
            self.program.validation_batch(number, self.settings)?
        {
            for (sum, value) in sums.iter_mut().zip(step.run(feeds)?) {
                *sum += f64::from(value.to_scalar::<f32>()?) * more as f64;
            }
            examples += more;
            number += 1;
        }
        let mean = |sum: &f64| (sum / examples.max(1) as f64) as f32;
        Ok(self.names.iter().copied().zip(sums.iter().map(mean)).collect())
    }

    /// The step and loss of the best validation.
    pub fn best(&self) -> Option<(i64, f32)> {
        self.best.patience().best()
    }

    /// Goes back to the best checkpoint.
    pub fn restore_best(&self, session: &Session) -> Result<Option<(i64, f32)>> {
        self.best.restore(session)
    }
}
