//! `SyncReplicasHook`: the synchronous part of a monitored session.

use super::SyncTraining;
use crate::Coordinator;
use crate::monitored::{Hook, RunContext};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_client::{
    Cancellation, Code, Error, Operation, Output, Result, RunOptions, Scope, Session, Tensor,
};

/// Sets a replica's local step when a session begins; on the chief also gives the first tokens and keeps updating the variables.
pub struct SyncReplicasHook {
    init: Operation,
    part: Part,
}

enum Part {
    Chief(Box<Chief>),
    /// Another replica: whether the chief has begun.
    Other(Output),
}

struct Chief {
    /// Accumulators take nothing any more.
    close: Operation,
    /// What an earlier session may have left behind: how much of it there is, and what takes one piece, or all, away.
    left: Vec<(Output, Operation)>,
    tokens: Operation,
    sync: Operation,
    updates: Option<Coordinator>,
    /// Waits until no update is being made, and lets no other begin.
    hold: Option<Operation>,
    /// Whether it has been run: the chief's own step ends with it, and begins with the contrary.
    held: bool,
}

/// A step that no gradient is of.
const CLOSED: i64 = i64::MAX / 2;

/// What an update under way may take at the end.
const UPDATE: Duration = Duration::from_secs(10);
/// Between two looks at whether the chief has begun.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// After so long without a chief, the session is made anew.
const PATIENCE: Duration = Duration::from_secs(60);

impl SyncTraining {
    /// The hook of a replica, which is to come before those that save. The graph must not be complete yet.
    #[track_caller]
    pub fn hook(&self, g: &Scope, is_chief: bool) -> Result<SyncReplicasHook> {
        if !is_chief {
            let begun = self.shared.stamps.is_set(g);
            g.check()?;
            return Ok(SyncReplicasHook { init: self.local_step_init.clone(), part: Part::Other(begun) });
        }
        let accumulators: Vec<_> = self.shared.accumulators.iter().flatten().collect();
        let closed = g.constant(CLOSED);
        let closing: Vec<Operation> = accumulators.iter().map(|a| a.set_step(g, &closed)).collect();
        let mut left: Vec<(Output, Operation)> =
            accumulators.iter().map(|a| (a.count(g), a.discard(g))).collect();
        let hold = self.shared.gate.as_ref().map(|gate| gate.acquire(g));
        left.extend(self.shared.gate.iter().map(|gate| gate.free(g)).zip(hold.clone()));
        let chief = Chief {
            close: g.group(&closing.iter().collect::<Vec<_>>()),
            left,
            // As many as TensorFlow gives: after a recovery replicas may wait for tokens that an earlier chief did not come to give.
            tokens: self.init_tokens(g, None)?,
            sync: self.sync.clone(),
            updates: None,
            hold,
            held: true,
        };
        g.check()?;
        Ok(SyncReplicasHook { init: self.chief_init.clone(), part: Part::Chief(Box::new(chief)) })
    }
}

impl Chief {
    fn begin(&mut self, run: &RunContext<'_>, init: &Operation) -> Result<()> {
        self.stop();
        self.held = true;
        run.session.run(&self.close, &[])?;
        // Nothing is added meanwhile, and nobody else takes: the chief before this one has gone, and its steps with it.
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

    /// After a step that was cut off, an update may be under way; it is not to be cut off too.
    fn finish_update(&mut self, session: &Session) -> Result<()> {
        if let Some(hold) = self.hold.as_ref().filter(|_| !self.held) {
            let options = RunOptions { timeout: Some(UPDATE), ..Default::default() };
            session.run_with(hold, &[], &options)?;
            self.held = true;
        }
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
        match &mut self.part {
            Part::Chief(chief) => chief.begin(run, &self.init),
            Part::Other(begun) => {
                wait_for_chief(run.session, begun)?;
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
        if let Part::Chief(chief) = &mut self.part {
            chief.finish_update(run.session)?;
            chief.stop();
        }
        Ok(())
    }
}

impl SyncReplicasHook {
    fn stop(&mut self) {
        if let Part::Chief(chief) = &mut self.part {
            chief.stop();
        }
    }

    fn set_held(&mut self, held: bool) {
        if let Part::Chief(chief) = &mut self.part {
            chief.held = held;
        }
    }
}

impl Drop for SyncReplicasHook {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The chief sets what replicas need beside the variables, soon after them.
fn wait_for_chief(session: &Session, begun: &Output) -> Result<()> {
    let began = Instant::now();
    while !session.run(begun, &[])?.to_scalar::<bool>()? {
        if began.elapsed() > PATIENCE {
            let why = format!("the variables are there, but no chief has begun for {PATIENCE:.0?}");
            return Err(Error::new(Code::Unavailable, why));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
