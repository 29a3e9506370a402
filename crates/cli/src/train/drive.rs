//! The training loop: what every program has in common.

use super::curve::Curve;
use super::program::{Model, Program, Trained};
use super::progress::Progress;
use super::settings::Settings;
use super::summary;
use crate::failure::Outcome;
use crate::output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thalweg::prelude::*;

/// How often the loss is looked at for the curve, at least: this many points.
const POINTS: u64 = 400;

pub fn train(program: &dyn Program, settings: &Settings) -> Outcome {
    let stop = stop_signal()?;
    let g = Scope::new();
    g.set_random_seed(settings.seed);
    let model = program.model(&g, settings)?;
    let session =
        Session::with_options(&g, SessionOptions { threads: settings.threads, ..Default::default() })?;
    output::print(&summary::head(program, settings, &g))?;
    session.run(&g.init(), &[])?;
    let began = Instant::now();
    let (curve, steps) = run_steps(program, settings, &session, &model, &stop)?;
    let took = began.elapsed();
    let trained = Trained { session: &session, model: &model, settings };
    let results = program.results(&trained)?;
    output::print(&summary::tail(&curve, &results, steps, took))?;
    if let Some(path) = &settings.svg {
        std::fs::write(path, curve.svg(&program.title()))
            .map_err(|e| Error::from(e).context(path.display().to_string()))?;
    }
    Ok(())
}

/// Set when the user asks to stop; asking twice ends the process at once.
fn stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let twice = signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone());
        twice.and_then(|_| signal_hook::flag::register(signal, stop.clone())).map_err(Error::from)?;
    }
    Ok(stop)
}

/// Runs the steps; the curve of the loss, and how many steps there were.
fn run_steps(
    program: &dyn Program,
    settings: &Settings,
    session: &Session,
    model: &Model,
    stop: &AtomicBool,
) -> Outcome<(Curve, u64)> {
    let feeds: Vec<&Output> = model.feeds.iter().collect();
    let step_only = session.callable(&feeds, &model.train)?;
    let mut looked_at = vec![model.loss.clone()];
    looked_at.extend(model.shown.iter().map(|(_, o)| o.clone()));
    let with_loss = session.callable(&feeds, &(looked_at, model.train.clone()))?;
    let mut progress = Progress::new(settings.steps, model.shown.as_ref().map(|(name, _)| *name));
    let mut curve = Curve::default();
    let every = (settings.steps / POINTS).max(1);
    for step in 0..settings.steps {
        if stop.load(Ordering::Relaxed) {
            progress.end();
            output::print(&format!("stopped after {step} steps\n"))?;
            return Ok((curve, step));
        }
        let batch = program.batch(step, settings)?;
        if step % every == 0 || step + 1 == settings.steps {
            let found = with_loss.run(batch)?;
            let numbers: Vec<f32> = found.iter().map(|t| t.to_scalar::<f32>()).collect::<Result<_>>()?;
            let loss = numbers.first().copied().unwrap_or(f32::NAN);
            if !loss.is_finite() {
                progress.end();
                return Err(diverged(step, loss).into());
            }
            curve.add(step, loss);
            progress.show(step + 1, loss, numbers.get(1).copied())?;
        } else {
            step_only.run(batch)?;
        }
    }
    progress.end();
    Ok((curve, settings.steps))
}

fn diverged(step: u64, loss: f32) -> Error {
    Error::new(
        Code::OutOfRange,
        format!("the loss is {loss} at step {step}: training has diverged; try a smaller --lr"),
    )
}
