//! SIGTERM and Ctrl-C of a task that trains: the current step ends, the chief saves, and the exit code lets a scheduler restart
//! the task.

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
    /// Cancels the current run; `None` while exiting at once loses nothing.
    running: Mutex<Option<Arc<Cancellation>>>,
}

/// How long a step may take to end before it is cancelled: one that waits for other replicas may never.
const STEP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long saving may take after that.
const SAVE_TIMEOUT: Duration = Duration::from_secs(30);

impl Stop {
    /// Listens from now on.
    pub fn listen() -> Result<Stop> {
        let stop = Stop::default();
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT]).map_err(Error::from)?;
        let shared = stop.clone();
        let listen = move || {
            for signal in signals.forever() {
                // A second signal exits at once.
                if shared.0.signal.swap(signal, Ordering::SeqCst) != 0 {
                    exit(signal);
                }
                let shared = shared.clone();
                std::thread::spawn(move || shared.end(signal));
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
            exit(signal);
        }
        std::thread::sleep(STEP_TIMEOUT);
        if let Some(run) = &*self.running() {
            run.cancel(Error::new(Code::Cancelled, "the task received a signal to stop"));
        }
        std::thread::sleep(SAVE_TIMEOUT);
        exit(signal);
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

fn exit(signal: i32) -> ! {
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
