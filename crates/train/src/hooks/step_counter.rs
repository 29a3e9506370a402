//! Measures how fast training goes.

use crate::monitored::{Every, Hook, RunContext, Timer};
use crate::summary::SharedWriter;
use thalweg_client::{Result, Tensor};

/// The tag of the scalar that holds global steps per second.
pub const STEPS_PER_SECOND: &str = "global_step/sec";

/// Writes global steps per second to the event file, as [`STEPS_PER_SECOND`].
pub struct StepCounterHook {
    writer: SharedWriter,
    timer: Timer,
}

impl StepCounterHook {
    /// Measures over each such interval.
    pub fn new(writer: &SharedWriter, every: Every) -> Self {
        StepCounterHook { writer: writer.clone(), timer: Timer::new(every) }
    }
}

impl Hook for StepCounterHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.timer.done(run.step);
        Ok(())
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if !self.timer.is_due(run.step) {
            return Ok(());
        }
        match self.timer.done(run.step) {
            Some((steps, took)) if steps > 0 && !took.is_zero() => {
                let rate = steps as f64 / took.as_secs_f64();
                self.writer.with(|w| w.add_scalar(STEPS_PER_SECOND, rate as f32, run.step))
            }
            _ => Ok(()),
        }
    }
}
