//! `Until`: the deadline and cancellation of long work, checked periodically.

use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, cancelled, deadline_exceeded};
use thalweg_core::step::StepContext;

/// No deadline and no cancellation by default.
#[derive(Clone, Default)]
pub struct Until {
    cancel: Option<Arc<Cancellation>>,
    deadline: Option<Instant>,
}

/// The clock is read once per so many pieces of work.
const PIECES: usize = 256;

impl Until {
    /// `limit`: the timeout from now.
    pub fn new(cancel: Option<Arc<Cancellation>>, limit: Option<Duration>) -> Until {
        // A deadline out of range of the clock is none.
        Until { cancel, deadline: limit.and_then(|limit| Instant::now().checked_add(limit)) }
    }

    /// The deadline and cancellation of the step.
    pub fn of_step(step: &StepContext) -> Until {
        Until { cancel: Some(step.cancel.clone()), deadline: step.deadline }
    }

    pub fn check(&self) -> Result<()> {
        if let Some(cancel) = self.cancel.as_ref().filter(|c| c.is_cancelled()) {
            return Err(cancel.reason().unwrap_or_else(|| cancelled("the step was cancelled")));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(deadline_exceeded("the step's time limit was over before its graph was compiled"))
            }
            _ => Ok(()),
        }
    }

    /// As `check`, once per `PIECES` pieces numbered like this.
    pub fn check_at(&self, piece: usize) -> Result<()> {
        if piece.is_multiple_of(PIECES) { self.check() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::error::Code;

    #[test]
    fn what_was_cancelled_or_is_out_of_time_does_not_go_on() {
        assert!(Until::default().check().is_ok());
        let out_of_time = Until::new(None, Some(Duration::ZERO));
        assert_eq!(out_of_time.check().unwrap_err().code(), Code::DeadlineExceeded);
        assert!(out_of_time.check_at(0).is_err() && out_of_time.check_at(1).is_ok());
        let cancel = Arc::new(Cancellation::default());
        let until = Until::new(Some(cancel.clone()), Some(Duration::MAX));
        assert!(until.check().is_ok());
        cancel.cancel(cancelled("enough"));
        assert_eq!(until.check().unwrap_err().message(), "enough");
    }
}
