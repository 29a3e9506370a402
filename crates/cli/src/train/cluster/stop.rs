//! SIGTERM and Ctrl-C of a task that trains: the step under way ends, the chief saves, and the exit code says that the task may be
//! started again.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thalweg::Cancellation;
use thalweg::prelude::*;
use thalweg::train::hooks::{Hook, RunContext};

/// Whether a signal has come. Clones are the same.
#[derive(Clone, Default)]
pub struct Stop(Arc<State>);

#[derive(Default)]
struct State {
    /// 0 until one comes.
    signal: AtomicI32,
    /// Ends the run under way; none while nothing is lost by leaving at once.
    running: Mutex<Option<Arc<Cancellation>>>,
}

/// What a step gets to end by itself: one that waits for other replicas may never.
const STEP: Duration = Duration::from_secs(1);
/// What saving and leaving get after that.
const LEAVE: Duration = Duration::from_secs(30);

impl Stop {
    /// Listens from now on.
    pub fn listen() -> Result<Stop> {
        let stop = Stop::default();
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT]).map_err(Error::from)?;
        let heard = stop.clone();
        let listen = move || {
            for signal in signals.forever() {
                // The second is meant.
                if heard.0.signal.swap(signal, Ordering::SeqCst) != 0 {
                    leave(signal);
                }
                let heard = heard.clone();
                std::thread::spawn(move || heard.end(signal));
            }
        };
        std::thread::Builder::new().name("thalweg-signals".into()).spawn(listen).map_err(Error::from)?;
        Ok(stop)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Arc<Cancellation>>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, signal: i32) {
        if self.running().is_none() {
            leave(signal);
        }
        std::thread::sleep(STEP);
        if let Some(run) = &*self.running() {
            run.cancel(Error::new(Code::Cancelled, "the task was told to stop"));
        }
        std::thread::sleep(LEAVE);
        leave(signal);
    }

    /// How the program ends, if a signal has come.
    pub fn asked(&self) -> Option<Failure> {
        match self.0.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(Failure::signalled(signal)),
        }
    }

    /// The hook that stops the loop.
    pub fn hook(&self) -> StopHook {
        StopHook(self.clone())
    }
}

fn leave(signal: i32) -> ! {
    std::process::exit(Failure::signalled(signal).code().into())
}

pub struct StopHook(Stop);

impl Hook for StopHook {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        *self.0.running() = Some(run.interrupt.clone());
        self.after_run(run, &[])
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if self.0.asked().is_some() {
            run.request_stop();
        }
        Ok(())
    }

    fn session_lost(&mut self, _: &Error) {
        *self.0.running() = None;
    }
}

impl Drop for StopHook {
    fn drop(&mut self) {
        *self.0.running() = None;
    }
}
