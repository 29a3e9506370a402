//! Measures how fast training goes.

use crate::monitored::{Every, Hook, RunContext, Timer};
use crate::summary::SharedWriter;
use thalweg_client::{Result, Tensor};

/// The scalar `global_step/sec` in the event file.
pub struct StepCounterHook {
    writer: SharedWriter,
    timer: Timer,
}

impl StepCounterHook {
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
                self.writer.with(|w| w.add_scalar("global_step/sec", rate as f32, run.step))
            }
            _ => Ok(()),
        }
    }
}
