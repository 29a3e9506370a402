//! Which error of a step its caller gets; decided only here.
//!
//! When a kernel fails, the step is cancelled, so others fail because of it; their errors are derived (`Error::derived`). The
//! step's error is the first that is not derived, or the first if all are.

use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error};

#[derive(Default)]
pub struct StepError(Option<Error>);

impl StepError {
    /// Records a failure. Returns whether it is the step's error.
    pub fn note(&mut self, e: Error) -> bool {
        let replaces = match &self.0 {
            None => true,
            Some(old) => old.is_derived() && !e.is_derived(),
        };
        if replaces {
            self.0 = Some(e);
        }
        replaces
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub fn take(&mut self) -> Option<Error> {
        self.0.take()
    }
}

/// The error for the caller, of a step with this cancellation: the cancellation, not the cancelled kernel, knows the reason.
pub fn cause(e: Error, cancel: &Cancellation) -> Error {
    match cancel.reason() {
        Some(reason) if e.code() == Code::Cancelled && !reason.is_derived() => reason,
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::error::{cancelled, internal};

    #[test]
    fn the_first_error_that_is_not_derived_is_the_steps() {
        let mut error = StepError::default();
        assert!(!error.is_set());
        assert!(error.note(internal("a").derived()));
        assert!(!error.note(internal("b").derived()));
        assert!(error.note(internal("c")));
        assert!(!error.note(internal("d")));
        assert_eq!(error.take().unwrap().message(), "c");
    }

    #[test]
    fn a_cancelled_kernel_has_the_cancellations_reason() {
        let cancel = Cancellation::default();
        cancel.cancel(internal("why"));
        assert_eq!(cause(cancelled("cancelled"), &cancel).message(), "why");
        assert_eq!(cause(internal("other"), &cancel).message(), "other");
    }
}
