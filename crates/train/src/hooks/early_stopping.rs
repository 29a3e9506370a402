//! Stops when evaluations get no better.

use crate::monitored::{Every, Hook, RunContext, Timer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thalweg_client::{Code, Error, Result, Tensor};
use thalweg_io::event::EventReader;
use thalweg_proto::event::What;
use thalweg_proto::summary::value::Value;

/// Reads a metric from the event files of evaluations, and stops training if its best value is too many steps old.
pub struct EarlyStoppingHook {
    directory: PathBuf,
    metric: String,
    larger_is_better: bool,
    max_steps: i64,
    min_steps: i64,
    timer: Timer,
}

impl EarlyStoppingHook {
    /// For a metric that should fall, such as `loss`: stops if it has not for `max_steps`. Evaluations are in `MODEL_DIR/eval`.
    pub fn no_decrease(eval_dir: impl AsRef<Path>, metric: &str, max_steps: u64) -> Self {
        EarlyStoppingHook {
            directory: eval_dir.as_ref().to_path_buf(),
            metric: metric.to_string(),
            larger_is_better: false,
            max_steps: i64::try_from(max_steps).unwrap_or(i64::MAX),
            min_steps: 0,
            timer: Timer::new(Every::Seconds(60.0)),
        }
    }

    /// For a metric that should rise, such as `accuracy`.
    pub fn no_increase(eval_dir: impl AsRef<Path>, metric: &str, max_steps: u64) -> Self {
        EarlyStoppingHook { larger_is_better: true, ..Self::no_decrease(eval_dir, metric, max_steps) }
    }

    /// Never stops before this step.
    pub fn min_steps(mut self, steps: u64) -> Self {
        self.min_steps = i64::try_from(steps).unwrap_or(i64::MAX);
        self
    }

    /// How often the event files are read; always when a session begins.
    pub fn run_every(mut self, every: Every) -> Self {
        self.timer = Timer::new(every);
        self
    }

    fn check(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.timer.done(run.step);
        if run.step < self.min_steps {
            return Ok(());
        }
        let found = read_eval_metrics(&self.directory, &self.metric)?;
        let Some(newest) = found.last_key_value().map(|(step, _)| *step) else { return Ok(()) };
        let better = |a: f32, b: f32| if self.larger_is_better { a > b } else { a < b };
        let first = found.first_key_value().map(|(step, value)| (*step, *value));
        let best = found.iter().fold(first, |best, (step, value)| match best {
            Some((_, v)) if !better(*value, v) => best,
            _ => Some((*step, *value)),
        });
        if best.is_some_and(|(step, _)| newest - step >= self.max_steps) {
            run.request_stop();
        }
        Ok(())
    }
}

impl Hook for EarlyStoppingHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.check(run)
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if self.timer.is_due(run.step) { self.check(run) } else { Ok(()) }
    }
}

/// The values of a metric by step, from all event files in a directory. An error if these have other metrics only.
pub fn read_eval_metrics(directory: &Path, metric: &str) -> Result<BTreeMap<i64, f32>> {
    let mut found = BTreeMap::new();
    let mut others: Vec<String> = Vec::new();
    let Ok(files) = std::fs::read_dir(directory) else { return Ok(found) };
    for file in files {
        let path = file?.path();
        if !path.file_name().is_some_and(|n| n.to_string_lossy().contains("tfevents")) {
            continue;
        }
        // A file that is being written may end in the middle of an event.
        for event in EventReader::open(&path)?.map_while(Result::ok) {
            let Some(What::Summary(summary)) = event.what else { continue };
            for value in summary.value {
                let Some(Value::SimpleValue(number)) = value.value else { continue };
                if value.tag == metric {
                    found.insert(event.step, number);
                } else if !others.contains(&value.tag) {
                    others.push(value.tag);
                }
            }
        }
    }
    if found.is_empty() && !others.is_empty() {
        let text = format!(
            "there is no '{metric}' in the evaluations in {}, which have only: {}",
            directory.display(),
            others.join(", ")
        );
        return Err(Error::new(Code::InvalidArgument, text));
    }
    Ok(found)
}
