//! The training loop that all programs share.

use super::curve::Curve;
use super::export;
use super::keep::Keeper;
use super::profile::Profile;
use super::program::{Model, Program, Trained};
use super::progress::{Form, Measures, Progress};
use super::settings::Settings;
use super::summary::{self, Outcomes};
use super::target_files;
use super::validate::Validator;
use crate::failure::{Failure, Outcome};
use crate::output;
use serde_json::json;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use thalweg::Callable;
use thalweg::prelude::*;
use thalweg::train::{Verdict, tables_initializer};

/// The minimum number of points of the loss curve.
pub const POINTS: u64 = 400;

/// Whether the curve has the loss of this step. Steps lie closer at the start, so that a run that is stopped early has a curve too.
fn is_point(done: u64, steps: u64) -> bool {
    let (before, most) = (done.saturating_sub(1), (steps / POINTS).max(1));
    let now = (before / (POINTS / 2)).max(1);
    // Powers of two: the steps of a wider stride are among those of a closer one.
    let stride = if now < most { 1 << now.ilog2() } else { most };
    before.is_multiple_of(stride) || done == steps
}

pub fn train(program: &dyn Program, settings: &Settings) -> Outcome {
    target_files::check(settings)?;
    export::check(program, settings)?;
    let stop = Stop::listen()?;
    let g = settings.precision.scope(&Scope::new());
    g.set_random_seed(settings.seed);
    let model = program.model(&g, settings)?;
    let mut keeper = Keeper::new(&g, program, settings)?;
    let mut validator = Validator::new(&g, program, settings, &model)?;
    let (init, tables) = (g.init(), tables_initializer(&g));
    let session =
        Session::with_options(&g, SessionOptions { threads: settings.threads, ..Default::default() })?;
    if settings.form.is_text() {
        output::print(&summary::head(program, settings, &g))?;
    }
    settings.form.event("start", summary::head_fields(program, settings, &g))?;
    session.run(&init, &[])?;
    session.run(&tables, &[])?;
    let first = keeper.as_mut().map_or(Ok(0), |keeper| keeper.resume(&session, &g))?;
    if first > 0 {
        settings.form.note(&format!("continuing after step {first}"))?;
        validator.as_mut().map_or(Ok(()), |v| v.resume(first))?;
    }
    let began = Instant::now();
    let mut run = Run {
        program,
        settings,
        session: &session,
        model: &model,
        keeper: keeper.as_mut(),
        validator: validator.as_mut(),
        curve: Curve::after(first),
        profile: settings.profile.then(Profile::default),
    };
    let Ended { done, stopped } = run.all(first, &stop)?;
    let (steps, took) = (done.saturating_sub(first), began.elapsed());
    let (mut curve, profile) = (run.curve, run.profile);
    curve.end_at(done);
    let mut rows = best(&session, settings, validator.as_ref())?;
    let trained = Trained { session: &session, model: &model, settings };
    let mut results = program.results(&trained)?;
    results.append(&mut rows);
    let outcomes = Outcomes { curve: &curve, results, details: program.details(), steps, took };
    tell(settings, &outcomes, profile.as_ref())?;
    if let Some(path) = &settings.svg {
        std::fs::write(path, curve.svg(&program.title()))
            .map_err(|e| Error::from(e).context(path.display().to_string()))?;
    }
    match stopped {
        Some(stopped) => Err(stopped),
        None => exported(program, settings, &g, &session),
    }
}

fn exported(program: &dyn Program, settings: &Settings, g: &Scope, session: &Session) -> Outcome {
    let Some(directory) = &settings.export else { return Ok(()) };
    export::write(program, g, session, directory)?;
    settings.form.event("exported", json!({ "directory": directory.display().to_string() }))?;
    match settings.form {
        Form::Json => Ok(()),
        form => form.note(&format!("exported to {}", directory.display())),
    }
}

/// A row about the best validation; with --early-stop its checkpoint is restored.
fn best(
    session: &Session,
    settings: &Settings,
    validator: Option<&Validator<'_>>,
) -> Result<Vec<[String; 2]>> {
    let Some(validator) = validator else { return Ok(Vec::new()) };
    let Some((step, loss)) = validator.best() else { return Ok(Vec::new()) };
    let restored = settings.early_stop.is_some();
    if restored {
        validator.restore_best(session)?;
    }
    let mut text = format!("{loss:.6} after step {step}");
    if restored {
        text.push_str(", restored");
    }
    let mut rows = vec![["best validation loss".into(), text]];
    if let Some(kept) = &validator.kept {
        rows.push(["best checkpoint".into(), kept.display().to_string()]);
    }
    Ok(rows)
}

fn tell(settings: &Settings, outcomes: &Outcomes<'_>, profile: Option<&Profile>) -> Outcome {
    let profiled = profile.map_or(String::new(), |p| format!("\n{}", p.text()));
    match settings.form {
        Form::Json => {
            settings.form.event("result", outcomes.fields())?;
            profile.map_or(Ok(()), |p| settings.form.event("profile", p.json()))
        }
        Form::Quiet => output::print(&format!("{}{profiled}", outcomes.results())),
        Form::Bar | Form::Lines => output::print(&format!("{}{profiled}", outcomes.text(output::width()))),
    }
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
    /// Steps of this and earlier runs.
    done: u64,
    /// The exit code, if a signal stopped it before the last step.
    stopped: Option<Failure>,
}

/// A run in progress.
struct Run<'a, 'v> {
    program: &'a dyn Program,
    settings: &'a Settings,
    session: &'a Session,
    model: &'a Model,
    keeper: Option<&'a mut Keeper>,
    validator: Option<&'a mut Validator<'v>>,
    /// Of the loss.
    curve: Curve,
    profile: Option<Profile>,
}

/// The prepared runs of a step.
struct Prepared {
    step: Callable,
    with_measures: Callable,
    validation: Option<Callable>,
}

impl Run<'_, '_> {
    fn prepare(&self) -> Result<Prepared> {
        let model = self.model;
        let feeds: Vec<&Output> = model.feeds.iter().collect();
        let validator = self.validator.as_ref();
        let mut measures = model.measures();
        if self.keeper.is_some() {
            measures.extend(model.train.watched_outputs().cloned());
        }
        Ok(Prepared {
            step: self.session.callable(&feeds, &model.train.step)?,
            with_measures: self.session.callable(&feeds, &(measures, model.train.step.clone()))?,
            validation: validator.map(|v| v.callable(self.session)).transpose()?,
        })
    }

    /// Runs all steps from `first` on, until a signal or an early stop.
    fn all(&mut self, first: u64, stop: &Stop) -> Outcome<Ended> {
        let prepared = self.prepare()?;
        let steps = self.settings.steps;
        let form = self.settings.form;
        let mut progress = Progress::new(form, steps, first, self.settings.steps_per_epoch);
        for done in first + 1..=steps {
            if let Some(stopped) = stop.asked() {
                progress.end();
                self.save(done - 1)?;
                self.tell_stop(done - 1)?;
                return Ok(Ended { done: done - 1, stopped: Some(stopped) });
            }
            let measures = self.step(done, &prepared, &mut progress)?;
            let verdict = self.validate(done, &prepared, &mut progress)?;
            if let Some(measures) = measures {
                progress.show(done, &measures)?;
            }
            if verdict == Some(Verdict::Stop) {
                progress.end();
                self.save(done)?;
                form.note(&format!("early stop after step {done}: the validation loss falls no more"))?;
                form.event("early_stop", json!({ "step": done }))?;
                return Ok(Ended { done, stopped: None });
            }
        }
        progress.end();
        self.save(steps.max(first))?;
        Ok(Ended { done: steps.max(first), stopped: None })
    }

    /// The `done`-th step; returns its loss if something shows it.
    fn step(&mut self, done: u64, prepared: &Prepared, progress: &mut Progress) -> Outcome<Option<Measures>> {
        let steps = self.settings.steps;
        let batch = self.program.batch(done - 1, self.settings)?;
        let is_point = is_point(done, steps);
        let traced = self.profile.is_some() && Profile::is_due(done, steps);
        let shown = self.keeper.as_ref().is_some_and(|keeper| keeper.traces(done));
        let mut looked = None;
        if !(is_point || traced || shown || progress.is_due(done)) {
            prepared.step.run(batch)?;
        } else {
            let options = RunOptions { trace: traced || shown, ..Default::default() };
            let (found, metadata) = prepared.with_measures.run_with(batch, &options)?;
            if let (true, Some(profile)) = (traced, &mut self.profile) {
                profile.add(&metadata.timings);
            }
            let numbers: Vec<f32> = found.iter().map(|t| t.to_scalar::<f32>()).collect::<Result<_>>()?;
            let names = self.model.measure_names().chain(self.model.train.watched_names());
            let mut measures: Measures = names.zip(numbers).collect();
            self.look(done, is_point, &measures, progress)?;
            if let (true, Some(keeper)) = (shown, &mut self.keeper) {
                keeper.trace(self.session, done, &metadata)?;
            }
            // The rest is for TensorBoard.
            measures.truncate(self.model.measure_names().count());
            looked = Some(measures);
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.due(self.session, done)?;
        }
        Ok(looked)
    }

    /// Takes note of the loss. `is_point`: of those that the curve and the event file have, whatever the terminal shows.
    fn look(&mut self, done: u64, is_point: bool, measures: &Measures, progress: &mut Progress) -> Outcome {
        let loss = measures.first().map_or(f32::NAN, |(_, value)| *value);
        if !loss.is_finite() {
            progress.end();
            return Err(diverged(done, loss).into());
        }
        if is_point {
            self.curve.add(done, loss);
            if let Some(keeper) = &mut self.keeper {
                keeper.measures(done, measures)?;
            }
        }
        Ok(())
    }

    fn validate(
        &mut self,
        done: u64,
        prepared: &Prepared,
        progress: &mut Progress,
    ) -> Outcome<Option<Verdict>> {
        let (Some(validator), Some(step)) = (&mut self.validator, &prepared.validation) else {
            return Ok(None);
        };
        if !validator.is_due(done) {
            return Ok(None);
        }
        let (measures, verdict) = validator.run(self.session, step, done)?;
        progress.validated(done, measures)?;
        Ok(Some(verdict))
    }

    fn save(&mut self, done: u64) -> Result<()> {
        match &mut self.keeper {
            Some(keeper) => keeper.save(self.session, done),
            None => Ok(()),
        }
    }

    fn tell_stop(&self, done: u64) -> Outcome {
        let form = self.settings.form;
        form.note(&format!("stopped after step {done}"))?;
        form.event("stopped", json!({ "step": done }))?;
        match &self.settings.logdir {
            Some(folder) => form.note(&format!("saved in {}; continue with --resume", folder.display())),
            None => form.note("nothing is saved: there is no --logdir"),
        }
    }
}

pub fn diverged(step: u64, loss: f32) -> Error {
    Error::new(
        Code::OutOfRange,
        format!("the loss is {loss} at step {step}: training has diverged; try a smaller --lr"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_points_from_its_start_and_not_too_many() {
        let points = |steps: u64, until: u64| (1..=until).filter(|step| is_point(*step, steps)).count();
        assert_eq!(points(100, 100), 100);
        // A run that is stopped early.
        assert!(points(1_000_000_000, 1000) >= 400);
        assert!((400..4000).contains(&points(1_000_000, 1_000_000)));
        assert!(is_point(1, 7_000_001) && is_point(7_000_001, 7_000_001));
    }
}
