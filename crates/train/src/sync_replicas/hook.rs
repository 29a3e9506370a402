//! `SyncReplicasHook`: the synchronous part of a monitored session.

use super::SyncTraining;
use crate::Coordinator;
use crate::monitored::{Hook, RunContext};
use std::sync::Arc;
use thalweg_client::{Cancellation, Error, Operation, Result, Scope, Session};

/// Sets a replica's local step when a session begins; on the chief also gives the first tokens and keeps updating the variables.
pub struct SyncReplicasHook {
    init: Operation,
    chief: Option<Chief>,
}

struct Chief {
    tokens: Operation,
    sync: Operation,
    updates: Option<Coordinator>,
}

impl SyncTraining {
    /// The hook of a replica, which is to come before those that save. The graph must not be complete yet.
    #[track_caller]
    pub fn hook(&self, g: &Scope, is_chief: bool) -> Result<SyncReplicasHook> {
        if !is_chief {
            return Ok(SyncReplicasHook { init: self.local_step_init.clone(), chief: None });
        }
        // As many as TensorFlow gives: after a recovery replicas may wait for tokens that an earlier chief did not come to give.
        let tokens = self.init_tokens(g, None)?;
        let chief = Chief { tokens, sync: self.sync.clone(), updates: None };
        Ok(SyncReplicasHook { init: self.chief_init.clone(), chief: Some(chief) })
    }
}

impl Chief {
    fn begin(&mut self, run: &RunContext<'_>) -> Result<()> {
        self.stop();
        run.session.run(&self.tokens, &[])?;
        let updates = Coordinator::new();
        let (session, interrupt, sync) = (run.session.clone(), run.interrupt.clone(), self.sync.clone());
        updates.spawn("sync-replicas", move |all| keep_updating(all, &session, &sync, &interrupt))?;
        self.updates = Some(updates);
        Ok(())
    }

    /// The queue of tokens stays open: the next chief, or this one's next session, goes on with it.
    fn stop(&mut self) {
        if let Some(updates) = self.updates.take() {
            updates.request_stop();
            // Its error has ended the run of the replica.
            let _ = updates.join();
        }
    }
}

fn keep_updating(
    all: &Coordinator,
    session: &Arc<Session>,
    sync: &Operation,
    replica: &Cancellation,
) -> Result<()> {
    let update = session.callable(&[], sync)?;
    let options = all.run_options();
    while !all.should_stop() {
        match update.run_with(Vec::new(), &options) {
            Ok(_) => {}
            Err(_) if all.should_stop() => break,
            Err(e) => {
                // The chief's own replica may be waiting for a token that will not come.
                replica.cancel(e.clone());
                return Err(e);
            }
        }
    }
    Ok(())
}

impl Hook for SyncReplicasHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        run.session.run(&self.init, &[])?;
        self.chief.as_mut().map_or(Ok(()), |chief| chief.begin(run))
    }

    fn session_lost(&mut self, _: &Error) {
        self.chief.iter_mut().for_each(Chief::stop);
    }

    fn end(&mut self, _: &mut RunContext<'_>) -> Result<()> {
        self.chief.iter_mut().for_each(Chief::stop);
        Ok(())
    }
}

impl Drop for SyncReplicasHook {
    fn drop(&mut self) {
        self.chief.iter_mut().for_each(Chief::stop);
    }
}
