//! `MonitoredSession`: runs with hooks around them, and a new session after a failure of another task.

use super::{Hook, RunContext, Scaffold, SessionCreator};
use crate::saver::Keep;
use std::sync::Arc;
use std::time::Duration;
use thalweg_client::{
    Callable, Cancellation, Code, Error, Feed, Fetch, Output, Result, RunOptions, Scope, Session, Tensor,
};

/// A session for a training loop. `'h` is what hooks may borrow.
pub struct MonitoredSession<'h> {
    scope: Scope,
    creator: Box<dyn SessionCreator + 'h>,
    scaffold: Scaffold,
    hooks: Vec<Box<dyn Hook + 'h>>,
    open: Open,
    step: i64,
    stop: bool,
    /// Sessions reopened since a run last succeeded.
    recoveries: u32,
}

/// A session, and the run that reads its global step.
struct Open {
    session: Arc<Session>,
    global_step: Callable,
    /// Cancels the run in progress.
    interrupt: Arc<Cancellation>,
}

/// After so many failures in a row, the last one is returned.
const MAX_RECOVERIES: u32 = 10;

impl<'h> MonitoredSession<'h> {
    /// Opens a session on the scope's graph. Hooks and the scaffold add their nodes first.
    #[track_caller]
    pub fn new(
        g: &Scope,
        creator: impl SessionCreator + 'h,
        hooks: Vec<Box<dyn Hook + 'h>>,
    ) -> Result<MonitoredSession<'h>> {
        MonitoredSession::keeping(g, creator, hooks, Keep::default())
    }

    /// As `new`, with the checkpoints that are kept.
    #[track_caller]
    pub fn keeping(
        g: &Scope,
        creator: impl SessionCreator + 'h,
        mut hooks: Vec<Box<dyn Hook + 'h>>,
        keep: Keep,
    ) -> Result<MonitoredSession<'h>> {
        hooks.iter_mut().try_for_each(|hook| hook.begin(g))?;
        let scaffold = Scaffold::new(g, keep)?;
        let creator: Box<dyn SessionCreator + 'h> = Box::new(creator);
        let open = open(&*creator, g, &scaffold, 0)?;
        let scope = g.clone();
        let mut made =
            MonitoredSession { scope, creator, scaffold, hooks, open, step: 0, stop: false, recoveries: 0 };
        match made.created() {
            Err(e) if is_preemption(&e) => made.recover(e)?,
            other => other?,
        }
        Ok(made)
    }

    /// One step, with the hooks' outputs fetched as well. `None` if training has ended: a hook has requested a stop, or the input is
    /// exhausted.
    pub fn run<F: Fetch>(&mut self, fetch: &F, feeds: &[Feed]) -> Result<Option<F::Result>> {
        while !self.stop {
            match self.run_once(fetch, feeds) {
                Ok(found) => {
                    self.recoveries = 0;
                    return Ok(Some(found));
                }
                Err(e) if e.code() == Code::OutOfRange => self.stop = true,
                Err(e) if e.code() == Code::Cancelled && self.open.interrupt.is_cancelled() => {
                    self.stop = true
                }
                Err(e) if is_preemption(&e) => self.recover(e)?,
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    fn run_once<F: Fetch>(&mut self, fetch: &F, feeds: &[Feed]) -> Result<F::Result> {
        let asked: Vec<Vec<Output>> = self.hooks.iter_mut().map(|hook| hook.before_run(self.step)).collect();
        let counts: Vec<usize> = asked.iter().map(Vec::len).collect();
        let asked: Vec<Output> = asked.into_iter().flatten().collect();
        let options = RunOptions { cancel: Some(self.open.interrupt.clone()), ..Default::default() };
        let ((found, values), _) = self.open.session.run_with(&(fetch, asked), feeds, &options)?;
        self.step = self.open.step()?;
        let mut rest: &[Tensor] = &values;
        for (hook, count) in self.hooks.iter_mut().zip(counts) {
            let (own, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            let (Open { session, interrupt, .. }, scaffold, step) = (&self.open, &self.scaffold, self.step);
            hook.after_run(
                &mut RunContext { session, interrupt, scaffold, step, stop: &mut self.stop },
                own,
            )?;
            rest = others;
        }
        Ok(found)
    }

    /// Whether a hook has requested a stop, or the input is exhausted.
    pub fn should_stop(&self) -> bool {
        self.stop
    }

    /// The global step: steps of this and earlier runs of the program.
    pub fn global_step(&self) -> i64 {
        self.step
    }

    /// The current session, for runs without hooks.
    pub fn session(&self) -> &Session {
        &self.open.session
    }

    /// Ends the loop: hooks do their last work, such as saving. After an error, drop the session instead.
    pub fn close(mut self) -> Result<()> {
        self.each_hook(|hook, run| hook.end(run))?;
        self.open.session.close()
    }

    /// Opens a new session after one was lost; the new one may be lost too.
    fn recover(&mut self, mut why: Error) -> Result<()> {
        while self.recoveries < MAX_RECOVERIES {
            self.recoveries += 1;
            self.hooks.iter_mut().for_each(|hook| hook.session_lost(&why));
            // The task may have lost it.
            let _ = self.open.session.close();
            std::thread::sleep(pause(self.recoveries - 1));
            self.open = open(&*self.creator, &self.scope, &self.scaffold, self.recoveries)?;
            match self.created() {
                Err(e) if is_preemption(&e) => why = e,
                other => return other,
            }
        }
        Err(why)
    }

    fn created(&mut self) -> Result<()> {
        self.step = self.open.step()?;
        self.each_hook(|hook, run| hook.after_create_session(run))
    }

    fn each_hook(&mut self, call: impl Fn(&mut dyn Hook, &mut RunContext<'_>) -> Result<()>) -> Result<()> {
        let (Open { session, interrupt, .. }, scaffold, step) = (&self.open, &self.scaffold, self.step);
        for hook in &mut self.hooks {
            call(&mut **hook, &mut RunContext { session, interrupt, scaffold, step, stop: &mut self.stop })?;
        }
        Ok(())
    }
}

/// Opens a session; retries if tasks are lost meanwhile, and counts the failures.
fn open(creator: &dyn SessionCreator, g: &Scope, scaffold: &Scaffold, mut failures: u32) -> Result<Open> {
    let session = loop {
        match creator.create_session(g, scaffold) {
            Err(e) if is_preemption(&e) && failures < MAX_RECOVERIES => {
                std::thread::sleep(pause(failures));
                failures += 1;
            }
            other => break other?,
        }
    };
    let global_step = session.callable(&[], &scaffold.global_step.value)?;
    Ok(Open { session: Arc::new(session), global_step, interrupt: Arc::default() })
}

/// The pause before a retry: tasks take a while to restart.
fn pause(failures: u32) -> Duration {
    Duration::from_millis(10 << failures.min(7))
}

impl Open {
    fn step(&self) -> Result<i64> {
        let found = self.global_step.run(Vec::new())?;
        found.first().map_or(Ok(0), |t| t.to_scalar())
    }
}

/// Whether an error means that another task was lost or restarted.
pub(super) fn is_preemption(e: &Error) -> bool {
    matches!(e.code(), Code::Unavailable | Code::Aborted)
}
