//! What a run shows in TensorBoard: curves, histograms, settings, its graph with the cost of each node, and examples of its data.

use super::program::{Program, Training};
use super::settings::Settings;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thalweg::prelude::*;
use thalweg::train::clip::global_norm;
use thalweg::train::hooks::STEPS_PER_SECOND;
use thalweg::train::summary::{self, FileWriter, HParams, Status, write_profile};
use thalweg::{Gradient, RunMetadata};

/// The event file of a run.
pub struct Board {
    events: FileWriter,
    folder: PathBuf,
    histograms: Option<Output>,
    parameter_norm: Output,
    /// The step of the newest histograms.
    histograms_of: Option<u64>,
    /// A point of the curves was just written: what is measured outside of the step follows.
    at_point: bool,
    /// Since when steps are counted, and from which on.
    counted: Option<(Instant, u64)>,
    traced: bool,
    steps: u64,
    ended: bool,
}

/// Steps per second are measured over at least this time.
const MEASURED_OVER: Duration = Duration::from_millis(250);

/// The step whose costs are shown: the first few make plans and fill caches.
const TRACED_STEP: u64 = 10;

impl Board {
    /// Adds the nodes that it needs to the graph, before the session is opened.
    pub fn new(g: &Scope, folder: &Path, program: &dyn Program, settings: &Settings) -> Result<Board> {
        histograms_of_parameters(g);
        let histograms = summary::merge_all(g);
        let scope = g.name_scope("parameters");
        let values: Vec<Gradient> =
            g.trainable_variables().iter().map(|v| Gradient::Dense(v.value.clone())).collect();
        let parameter_norm = global_norm(&scope, &values);
        let mut events = FileWriter::new(folder)?;
        events.describe("gradient_norm", "The 2-norm of all gradients, before they are clipped.");
        events.describe("parameter_norm", "The 2-norm of all trainable variables.");
        if !settings.resume {
            events.add_session_start(&hparams(program, settings))?;
            events.add_text("program", program.title(), 0)?;
            program.show(&mut Shown { events: &mut events, folder })?;
        }
        Ok(Board {
            events,
            folder: folder.to_path_buf(),
            histograms,
            parameter_norm,
            histograms_of: None,
            at_point: false,
            counted: None,
            traced: settings.resume,
            steps: settings.steps,
            ended: false,
        })
    }

    /// Variables are initialised, or restored after `first` steps.
    pub fn start(&mut self, session: &Session, first: u64) -> Result<()> {
        self.events.add_session_graph(session)?;
        self.counted = Some((Instant::now(), first));
        match first {
            0 => self.histograms(session, 0),
            _ => self.events.add_start(step(first)),
        }
    }

    /// Values of a step, by name.
    pub fn scalars<'a>(&mut self, done: u64, values: impl Iterator<Item = (&'a str, f32)>) -> Result<()> {
        for (name, value) in values {
            self.events.add_scalar(name, value, step(done))?;
        }
        self.at_point = true;
        match self.counted {
            Some((since, first)) if since.elapsed() >= MEASURED_OVER => self.speed(done, since, first),
            _ => Ok(()),
        }
    }

    fn speed(&mut self, done: u64, since: Instant, first: u64) -> Result<()> {
        self.counted = Some((Instant::now(), done));
        let rate = done.saturating_sub(first) as f64 / since.elapsed().as_secs_f64().max(1e-9);
        self.events.add_scalar(STEPS_PER_SECOND, rate as f32, step(done))
    }

    /// What is measured after the step.
    pub fn after_step(&mut self, session: &Session, done: u64) -> Result<()> {
        if !std::mem::take(&mut self.at_point) {
            return Ok(());
        }
        let norm = session.run(&self.parameter_norm, &[])?.to_scalar::<f32>()?;
        self.events.add_scalar("parameter_norm", norm, step(done))
    }

    /// Whether the costs of this step's nodes are wanted.
    pub fn traces(&self, done: u64) -> bool {
        !self.traced && done >= TRACED_STEP.min(self.steps)
    }

    /// The costs of a step, which was run with `RunOptions::trace`.
    pub fn trace(&mut self, session: &Session, done: u64, metadata: &RunMetadata) -> Result<()> {
        self.traced = true;
        let metadata = session.metadata_message(metadata);
        let name = format!("step {done}");
        self.events.add_run_metadata(&metadata, &name, step(done))?;
        write_profile(&self.folder, &name.replace(' ', "_"), &metadata)
    }

    /// The histograms of the parameters, once for each step.
    pub fn histograms(&mut self, session: &Session, done: u64) -> Result<()> {
        let (Some(histograms), true) = (&self.histograms, self.histograms_of != Some(done)) else {
            return self.events.flush();
        };
        self.histograms_of = Some(done);
        self.events.add_summary(&session.run(histograms, &[])?, step(done))?;
        self.events.flush()
    }

    /// The run has ended after `done` steps, and can be resumed.
    pub fn end(&mut self, done: u64) -> Result<()> {
        if let Some((since, first)) = self.counted.take().filter(|(_, first)| done > *first) {
            self.speed(done, since, first)?;
        }
        self.ended = true;
        // One that was stopped may go on: TensorBoard keeps the first end that it is told.
        if done >= self.steps { self.events.add_session_end(Status::Success) } else { self.events.flush() }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if !self.ended {
            // The run has failed: its own error is what is told.
            drop(self.events.add_session_end(Status::Failure));
        }
    }
}

fn step(done: u64) -> i64 {
    i64::try_from(done).unwrap_or(i64::MAX)
}

/// The settings by which runs are compared.
fn hparams(program: &dyn Program, settings: &Settings) -> HParams {
    let own = program.own_settings().into_iter();
    own.fold(HParams::new(), |all, (name, value)| all.set(name, value))
        .set("learning_rate", settings.schedule.rate)
        .set("optimizer", settings.optimizer.name())
        .set("precision", settings.precision.name())
        .set("batch", settings.batch)
        .set("steps", settings.steps as f64)
        .set("seed", settings.seed as f64)
}

/// Where a program shows its data, when a run starts.
pub struct Shown<'a> {
    pub events: &'a mut FileWriter,
    /// The directory of the run.
    pub folder: &'a Path,
}

/// Histogram summaries of the trainable variables.
pub fn histograms_of_parameters(g: &Scope) {
    // In a scope of their own: tags are node names, and those of the variables are taken.
    let scope = g.name_scope("parameters");
    for v in g.trainable_variables() {
        summary::histogram(&scope, &v.name(), &v.value);
    }
}

impl Training {
    /// What is watched besides the loss.
    pub fn watched_outputs(&self) -> impl Iterator<Item = &Output> {
        self.watched.iter().map(|(_, output)| output)
    }

    /// The names of `watched_outputs`.
    pub fn watched_names(&self) -> impl Iterator<Item = &'static str> {
        self.watched.iter().map(|(name, _)| *name)
    }
}
