//! `Hook`: what watches a training loop, and takes part in it.

use super::Scaffold;
use std::sync::Arc;
use thalweg_client::{Cancellation, Error, Output, Result, Scope, Session, Tensor};

/// Called around the runs of a [`super::MonitoredSession`], in the order that hooks were given in.
pub trait Hook {
    /// Before there is a session: the last chance to add nodes to the graph.
    fn begin(&mut self, _g: &Scope) -> Result<()> {
        Ok(())
    }

    /// There is a session, with all variables set; also after each recovery.
    fn after_create_session(&mut self, _run: &mut RunContext<'_>) -> Result<()> {
        Ok(())
    }

    /// What the next run is to fetch for this hook; `step` steps have been made.
    fn before_run(&mut self, _step: i64) -> Vec<Output> {
        Vec::new()
    }

    /// The values of what `before_run` asked for.
    fn after_run(&mut self, _run: &mut RunContext<'_>, _values: &[Tensor]) -> Result<()> {
        Ok(())
    }

    /// The session was lost with another task, as the error says; a new one is about to be made.
    fn session_lost(&mut self, _why: &Error) {}

    /// The loop has come to its end without an error.
    fn end(&mut self, _run: &mut RunContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// What a hook sees of the loop.
pub struct RunContext<'a> {
    pub session: &'a Arc<Session>,
    /// Ends the run that is under way in this session, from any thread. With `Unavailable` or `Aborted` as the reason the session is made
    /// anew, with `Cancelled` the loop stops.
    pub interrupt: &'a Arc<Cancellation>,
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
