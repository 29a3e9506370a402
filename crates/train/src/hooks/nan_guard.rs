//! Ends training when the loss is NaN.

use crate::monitored::{Hook, RunContext};
use thalweg_client::{Code, Error, Output, Result, Tensor};

/// Checks the loss of each step.
pub struct NanGuardHook {
    loss: Output,
    fail: bool,
}

impl NanGuardHook {
    /// An error if the loss is NaN.
    pub fn new(loss: &Output) -> Self {
        NanGuardHook { loss: loss.clone(), fail: true }
    }

    /// Stops training instead of returning an error.
    pub fn stop_only(mut self) -> Self {
        self.fail = false;
        self
    }
}

impl Hook for NanGuardHook {
    fn before_run(&mut self, _: i64) -> Vec<Output> {
        vec![self.loss.clone()]
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        let is_nan = |t: &Tensor| -> bool {
            t.as_slice::<f32>().is_ok_and(|v| v.iter().any(|x| x.is_nan()))
                || t.as_slice::<f64>().is_ok_and(|v| v.iter().any(|x| x.is_nan()))
        };
        if !values.iter().any(is_nan) {
            return Ok(());
        }
        if !self.fail {
            run.request_stop();
            return Ok(());
        }
        let text = format!(
            "the loss '{}' is NaN at step {}: training has diverged; try a smaller learning rate, or look for NaN in the input",
            self.loss.name(),
            run.step
        );
        Err(Error::new(Code::InvalidArgument, text))
    }
}
