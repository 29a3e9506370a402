//! `SyncReplicasHook`: the synchronous part of a monitored session.

use super::SyncTraining;
use crate::Coordinator;
use crate::monitored::{Hook, RunContext};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_client::{
    Cancellation, Code, Error, Operation, Output, Result, RunOptions, Scope, Session, Tensor,
};

/// Sets a replica's local step when a session begins; on the chief also enqueues the first tokens and runs the updates.
pub struct SyncReplicasHook {
    init: Operation,
    role: Role,
}

enum Role {
    Chief(Box<Chief>),
    /// Another replica: whether the chief has started.
    Other(Output),
}

struct Chief {
    /// Makes accumulators drop all gradients.
    close: Operation,
    /// State that an earlier session may have left: a count, and the operation that removes it.
    left: Vec<(Output, Operation)>,
    tokens: Operation,
    sync: Operation,
    updates: Option<Coordinator>,
    /// Acquires the gate: waits for the update in progress, and blocks the next.
    hold: Option<Operation>,
    /// Whether the chief holds the gate: its own step releases it first and acquires it last.
    held: bool,
}

/// A step that no gradient has.
const CLOSED: i64 = i64::MAX / 2;

/// The timeout of the last update.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two checks whether the chief has started.
const POLL_EVERY: Duration = Duration::from_millis(20);
/// After so long without a chief, the session is reopened.
const CHIEF_TIMEOUT: Duration = Duration::from_secs(60);

impl SyncTraining {
    /// The hook of a replica; it goes before hooks that save. It adds nodes to the graph.
    #[track_caller]
    pub fn hook(&self, g: &Scope, is_chief: bool) -> Result<SyncReplicasHook> {
        if !is_chief {
            let started = self.shared.stamps.is_set(g);
            g.check()?;
            return Ok(SyncReplicasHook { init: self.local_step_init.clone(), role: Role::Other(started) });
        }
        let accumulators: Vec<_> = self.shared.accumulators.iter().flatten().collect();
        let closed = g.constant(CLOSED);
        let closing: Vec<Operation> = accumulators.iter().map(|a| a.set_step(g, &closed)).collect();
        let mut left: Vec<(Output, Operation)> =
            accumulators.iter().map(|a| (a.count(g), a.discard(g))).collect();
        let hold = self.shared.gate.as_ref().map(|gate| gate.acquire(g));
        left.extend(self.shared.gate.iter().map(|gate| gate.free(g)).zip(hold.clone()));
        let chief = Chief {
            close: g.group(&closing),
            left,
            // As many as TensorFlow: after a recovery, replicas may wait for tokens that an earlier chief did not enqueue.
            tokens: self.init_tokens(g, None)?,
            sync: self.sync.clone(),
            updates: None,
            hold,
            held: true,
        };
        g.check()?;
        Ok(SyncReplicasHook { init: self.chief_init.clone(), role: Role::Chief(Box::new(chief)) })
    }
}

impl Chief {
    fn begin(&mut self, run: &RunContext<'_>, init: &Operation) -> Result<()> {
        self.stop();
        self.held = true;
        run.session.run(&self.close, &[])?;
        // Accumulators are closed, and the earlier chief's steps have ended: nothing else adds or takes.
        for (count, take) in &self.left {
            if run.session.run(count, &[])?.to_scalar::<i32>()? > 0 {
                run.session.run(take, &[])?;
            }
        }
        run.session.run(init, &[])?;
        run.session.run(&self.tokens, &[])?;
        let updates = Coordinator::new();
        let (session, interrupt, sync) = (run.session.clone(), run.interrupt.clone(), self.sync.clone());
        updates.spawn("sync-replicas", move |all| keep_updating(all, &session, &sync, &interrupt))?;
        self.updates = Some(updates);
        Ok(())
    }

    /// After a step that was cancelled, an update may be in progress: waits for it.
    fn finish_update(&mut self, session: &Session) -> Result<()> {
        if let Some(hold) = self.hold.as_ref().filter(|_| !self.held) {
            let options = RunOptions { timeout: Some(UPDATE_TIMEOUT), ..Default::default() };
            session.run_with(hold, &[], &options)?;
            self.held = true;
        }
        Ok(())
    }

    /// The token queue stays open: the next chief, or this one's next session, uses it.
    fn stop(&mut self) {
        if let Some(updates) = self.updates.take() {
            updates.request_stop();
            // Its error has cancelled the run of the replica.
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
        match &mut self.role {
            Role::Chief(chief) => chief.begin(run, &self.init),
            Role::Other(started) => {
                wait_for_chief(run.session, started)?;
                run.session.run(&self.init, &[])
            }
        }
    }

    fn session_lost(&mut self, _: &Error) {
        self.stop();
    }

    fn before_run(&mut self, _: i64) -> Vec<Output> {
        self.set_held(false);
        Vec::new()
    }

    fn after_run(&mut self, _: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        self.set_held(true);
        Ok(())
    }

    fn end(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        if let Role::Chief(chief) = &mut self.role {
            chief.finish_update(run.session)?;
            chief.stop();
        }
        Ok(())
    }
}

impl SyncReplicasHook {
    fn stop(&mut self) {
        if let Role::Chief(chief) = &mut self.role {
            chief.stop();
        }
    }

    fn set_held(&mut self, held: bool) {
        if let Role::Chief(chief) = &mut self.role {
            chief.held = held;
        }
    }
}

impl Drop for SyncReplicasHook {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The chief sets the stamp offset soon after the variables.
fn wait_for_chief(session: &Session, started: &Output) -> Result<()> {
    let began = Instant::now();
    while !session.run(started, &[])?.to_scalar::<bool>()? {
        if began.elapsed() > CHIEF_TIMEOUT {
            let why =
                format!("the variables are initialised, but no chief has started for {CHIEF_TIMEOUT:.0?}");
            return Err(Error::new(Code::Unavailable, why));
        }
        std::thread::sleep(POLL_EVERY);
    }
    Ok(())
}
