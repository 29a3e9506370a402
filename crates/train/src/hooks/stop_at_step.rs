//! Stops after a number of steps.

use crate::monitored::{Hook, RunContext};
use thalweg_client::{Result, Tensor};

/// Requests a stop after a number of steps.
pub struct StopAtStepHook {
    /// How many steps this run is to make.
    more: Option<i64>,
    last: i64,
}

impl StopAtStepHook {
    /// After so many steps of this run, counted from its first.
    pub fn num_steps(steps: u64) -> Self {
        StopAtStepHook { more: Some(count(steps)), last: i64::MAX }
    }

    /// When the global step is this.
    pub fn last_step(step: u64) -> Self {
        StopAtStepHook { more: None, last: count(step) }
    }
}

fn count(steps: u64) -> i64 {
    i64::try_from(steps).unwrap_or(i64::MAX)
}

impl Hook for StopAtStepHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        // Counted from the start of the run, not from a recovery.
        if let Some(more) = self.more.take() {
            self.last = run.step.saturating_add(more);
        }
        self.after_run(run, &[])
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if run.step >= self.last {
            run.request_stop();
        }
        Ok(())
    }
}
