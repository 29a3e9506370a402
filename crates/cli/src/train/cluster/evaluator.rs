//! The evaluator: evaluates every new checkpoint of the directory.

use super::super::program::{Program, Trained};
use super::super::progress::PREFIX;
use super::super::settings::Settings;
use super::stop::Stop;
use crate::failure::{Failure, Outcome};
use crate::output;
use std::time::Duration;
use thalweg::prelude::*;
use thalweg::train::estimator::EVAL_DIR;
use thalweg::train::saver::{Saver, latest_checkpoint};
use thalweg::train::summary::FileWriter;
use thalweg::train::{get_or_create_global_step, tables_initializer};
use thalweg_core::invalid;

/// Between two polls of the directory.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// Runs until the checkpoint of the last step is evaluated.
pub fn evaluate(program: &dyn Program, settings: &Settings) -> Outcome {
    let no_folder =
        || Failure::Usage(invalid!("an evaluator needs --logdir, the directory with the checkpoints"));
    let folder = settings.logdir.as_ref().ok_or_else(no_folder)?;
    let stop = Stop::listen()?;
    let g = Scope::new();
    let model = program.model(&g, settings)?;
    let global_step = get_or_create_global_step(&g);
    let (saver, tables) = (Saver::new(&g), tables_initializer(&g));
    let options = SessionOptions { threads: settings.threads, ..Default::default() };
    let session = Session::with_options(&g, options)?;
    session.run(&tables, &[])?;
    let mut events = FileWriter::new(folder.join(EVAL_DIR))?;
    let mut last = None;
    loop {
        if let Some(stopped) = stop.asked() {
            return Err(stopped);
        }
        let newest = latest_checkpoint(folder)?;
        let Some(newest) = newest.filter(|n| last.as_ref() != Some(n)) else {
            std::thread::sleep(POLL_EVERY);
            continue;
        };
        // It may be deleted already, if newer ones were saved since.
        if let Err(e) = saver.restore(&session, &newest) {
            output::print(&format!("{}: {e}\n", newest.display()))?;
            last = Some(newest);
            continue;
        }
        last = Some(newest);
        let step = session.run(&global_step.value, &[])?.to_scalar::<i64>()?;
        let rows = program.results(&Trained { session: &session, model: &model, settings })?;
        for [name, value] in &rows {
            if let Some(number) = number(value) {
                events.add_scalar(name, number, step)?;
            }
        }
        events.flush()?;
        let shown: Vec<String> = rows.iter().map(|[name, value]| format!("{name} {value}")).collect();
        output::print(&format!("{PREFIX}{step}: {}\n", shown.join(", ")))?;
        if u64::try_from(step).is_ok_and(|s| s >= settings.steps) {
            return Ok(());
        }
    }
}

/// The number that a result starts with.
fn number(text: &str) -> Option<f32> {
    text.split_whitespace().next().and_then(|word| word.parse().ok())
}
