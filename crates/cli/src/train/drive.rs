//! The training loop that all programs share.

use super::curve::Curve;
use super::keep::Keeper;
use super::program::{Model, Program, Trained};
use super::progress::Progress;
use super::settings::Settings;
use super::summary;
use crate::failure::{Failure, Outcome};
use crate::output;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use thalweg::prelude::*;

/// The minimum number of points of the loss curve.
pub const POINTS: u64 = 400;

pub fn train(program: &dyn Program, settings: &Settings) -> Outcome {
    let stop = Stop::listen()?;
    let g = Scope::new();
    g.set_random_seed(settings.seed);
    let model = program.model(&g, settings)?;
    let mut keeper = Keeper::new(&g, program, settings)?;
    let init = g.init();
    let session =
        Session::with_options(&g, SessionOptions { threads: settings.threads, ..Default::default() })?;
    output::print(&summary::head(program, settings, &g))?;
    session.run(&init, &[])?;
    let first = keeper.as_mut().map_or(Ok(0), |keeper| keeper.resume(&session, &g))?;
    if first > 0 {
        output::print(&format!("continuing after step {first}\n"))?;
    }
    let began = Instant::now();
    let mut run = Steps { program, settings, session: &session, model: &model, keeper: keeper.as_mut() };
    let Ended { curve, done, stopped } = run.all(first, &stop)?;
    let (steps, took) = (done.saturating_sub(first), began.elapsed());
    let trained = Trained { session: &session, model: &model, settings };
    let results = program.results(&trained)?;
    output::print(&summary::tail(&curve, &results, steps, took))?;
    if let Some(path) = &settings.svg {
        std::fs::write(path, curve.svg(&program.title()))
            .map_err(|e| Error::from(e).context(path.display().to_string()))?;
    }
    stopped.map_or(Ok(()), Err)
}

/// Whether SIGINT or SIGTERM was received; a second one exits at once.
struct Stop {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    fn listen() -> Result<Stop> {
        let stop = Stop { asked: Arc::default(), signal: Arc::default() };
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, stop.asked.clone())
                .and_then(|_| flag::register_usize(signal, stop.signal.clone(), signal as usize))
                .and_then(|_| flag::register(signal, stop.asked.clone()))
                .map_err(Error::from)?;
        }
        Ok(stop)
    }

    /// The exit code, if a signal was received.
    fn asked(&self) -> Option<Failure> {
        let signal = || i32::try_from(self.signal.load(Ordering::SeqCst)).unwrap_or_default();
        self.asked.load(Ordering::SeqCst).then(|| Failure::signalled(signal()))
    }
}

/// How the steps of a run ended.
struct Ended {
    /// Of the loss.
    curve: Curve,
    /// Steps of this and earlier runs.
    done: u64,
    /// The exit code, if a signal stopped it before the last step.
    stopped: Option<Failure>,
}

/// The steps of a run.
struct Steps<'a> {
    program: &'a dyn Program,
    settings: &'a Settings,
    session: &'a Session,
    model: &'a Model,
    keeper: Option<&'a mut Keeper>,
}

impl Steps<'_> {
    /// Runs all steps from `first` on, or until a signal.
    fn all(&mut self, first: u64, stop: &Stop) -> Outcome<Ended> {
        let model = self.model;
        let feeds: Vec<&Output> = model.feeds.iter().collect();
        let step_only = self.session.callable(&feeds, &model.train.step)?;
        let mut looked_at = vec![model.loss.clone()];
        looked_at.extend(model.shown.iter().map(|(_, o)| o.clone()));
        if self.keeper.is_some() {
            looked_at.extend(model.train.watched_outputs().cloned());
        }
        let with_loss = self.session.callable(&feeds, &(looked_at, model.train.step.clone()))?;
        let steps = self.settings.steps;
        let mut progress = Progress::new(steps, first, model.shown.as_ref().map(|(name, _)| *name));
        let mut curve = Curve::default();
        let every = (steps / POINTS).max(1);
        for step in first..steps {
            if let Some(stopped) = stop.asked() {
                progress.end();
                self.save(step)?;
                output::print(&format!("stopped after step {step}\n"))?;
                return Ok(Ended { curve, done: step, stopped: Some(stopped) });
            }
            let batch = self.program.batch(step, self.settings)?;
            let trace = self.keeper.as_ref().is_some_and(|keeper| keeper.traces(step + 1));
            if step % every == 0 || step + 1 == steps || trace {
                let options = RunOptions { trace, ..Default::default() };
                let (found, metadata) = with_loss.run_with(batch, &options)?;
                let numbers: Vec<f32> = found.iter().map(|t| t.to_scalar::<f32>()).collect::<Result<_>>()?;
                let loss = numbers.first().copied().unwrap_or(f32::NAN);
                if !loss.is_finite() {
                    progress.end();
                    return Err(diverged(step, loss).into());
                }
                curve.add(step, loss);
                progress.show(step + 1, loss, numbers.get(1).copied())?;
                if let Some(keeper) = &mut self.keeper {
                    keeper.loss(model, step + 1, &numbers)?;
                    if trace {
                        keeper.trace(self.session, step + 1, &metadata)?;
                    }
                }
            } else {
                step_only.run(batch)?;
            }
            if let Some(keeper) = &mut self.keeper {
                keeper.due(self.session, step + 1)?;
            }
        }
        progress.end();
        self.save(steps.max(first))?;
        Ok(Ended { curve, done: steps.max(first), stopped: None })
    }

    fn save(&mut self, done: u64) -> Result<()> {
        match &mut self.keeper {
            Some(keeper) => keeper.save(self.session, done),
            None => Ok(()),
        }
    }
}

pub fn diverged(step: u64, loss: f32) -> Error {
    Error::new(
        Code::OutOfRange,
        format!("the loss is {loss} at step {step}: training has diverged; try a smaller --lr"),
    )
}
