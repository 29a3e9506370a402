//! Saves checkpoints.

use crate::monitored::{Every, Hook, RunContext, Timer};
use crate::saver::CHECKPOINT_NAME;
use std::path::{Path, PathBuf};
use thalweg_client::{Result, Tensor};

/// Saves at the start, every so often, and at the end, as `DIR/model.ckpt-STEP`.
pub struct CheckpointSaverHook {
    path: PathBuf,
    timer: Timer,
}

impl CheckpointSaverHook {
    /// Into this directory.
    pub fn new(directory: impl AsRef<Path>, every: Every) -> Self {
        CheckpointSaverHook { path: directory.as_ref().join(CHECKPOINT_NAME), timer: Timer::new(every) }
    }

    fn save(&mut self, run: &RunContext<'_>) -> Result<()> {
        run.scaffold.saver.save(run.session, &self.path, Some(run.step))?;
        self.timer.done(run.step);
        Ok(())
    }
}

impl Hook for CheckpointSaverHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        // A restored checkpoint is not saved again.
        if run.step > 0 {
            self.timer.done(run.step);
            return Ok(());
        }
        self.save(run)
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if self.timer.is_due(run.step) { self.save(run) } else { Ok(()) }
    }

    fn end(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        if self.timer.last_step() == Some(run.step) { Ok(()) } else { self.save(run) }
    }
}
