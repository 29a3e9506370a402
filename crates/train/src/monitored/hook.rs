//! `Hook`: code that runs around each step of a training loop.

use super::Scaffold;
use std::sync::Arc;
use thalweg_client::{Cancellation, Error, Output, Result, Scope, Session, Tensor};

/// Called around the runs of a [`super::MonitoredSession`], in the order of the hooks.
pub trait Hook {
    /// Before there is a session: the last chance to add nodes to the graph.
    fn begin(&mut self, _g: &Scope) -> Result<()> {
        Ok(())
    }

    /// A session is open, with all variables set; also called after each recovery.
    fn after_create_session(&mut self, _run: &mut RunContext<'_>) -> Result<()> {
        Ok(())
    }

    /// The outputs that the next run fetches for this hook; `step` is the global step before it.
    fn before_run(&mut self, _step: i64) -> Vec<Output> {
        Vec::new()
    }

    /// The run has ended; `values` are those of the outputs of `before_run`.
    fn after_run(&mut self, _run: &mut RunContext<'_>, _values: &[Tensor]) -> Result<()> {
        Ok(())
    }

    /// The session was lost with another task; a new one is about to be opened.
    fn session_lost(&mut self, _why: &Error) {}

    /// The loop has ended without an error.
    fn end(&mut self, _run: &mut RunContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// The state of the loop.
pub struct RunContext<'a> {
    /// The current session.
    pub session: &'a Arc<Session>,
    /// Cancels the run in progress, from any thread. `Unavailable` or `Aborted` as the reason reopens the session, `Cancelled` stops the
    /// loop.
    pub interrupt: &'a Arc<Cancellation>,
    /// The nodes that initialise, save and restore.
    pub scaffold: &'a Scaffold,
    /// The global step: how many steps have been made.
    pub step: i64,
    pub(super) stop: &'a mut bool,
}

impl RunContext<'_> {
    /// No more runs are made after this one.
    pub fn request_stop(&mut self) {
        *self.stop = true;
    }
}
