//! Starts the tasks, restarts those that die, and stops all in the end.

use super::chaos::Chaos;
use super::cluster::Planned;
use super::task::{Program, Task};
use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thalweg_core::error::{Error, Result};

/// Between two polls of the tasks.
const POLL_EVERY: Duration = Duration::from_millis(10);
/// How long other tasks may take to exit by themselves after the chief.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long tasks may take after SIGTERM; the chief saves.
const TERM_TIMEOUT: Duration = Duration::from_secs(40);

struct Supervisor<'a> {
    /// The chief first.
    tasks: Vec<Task>,
    command: &'a Program,
    restart: bool,
    signals: Signals,
}

/// Signals to the supervisor itself.
struct Signals {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicUsize>,
}

/// Runs the cluster until its chief has exited for good; returns the exit code.
pub fn supervise(planned: Vec<Planned>, command: &Program, restart: bool, mut chaos: Chaos) -> Result<u8> {
    let width = planned.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let progress = Arc::default();
    let number = |(i, p): (usize, Planned)| Task::new(p, i, width, Arc::clone(&progress));
    let tasks = planned.into_iter().enumerate().map(number).collect();
    let mut all = Supervisor { tasks, command, restart, signals: Signals::listen()? };
    all.tasks.iter_mut().try_for_each(|task| task.start(command))?;
    let code = loop {
        if let Some(code) = all.poll()? {
            break code;
        }
        chaos.strike(&all.tasks);
        std::thread::sleep(POLL_EVERY);
    };
    all.end()?;
    if let Some(summary) = chaos.summary() {
        eprintln!("{summary}");
    }
    Ok(code)
}

impl Signals {
    fn listen() -> Result<Signals> {
        let signals = Signals { interrupted: Arc::default(), terminated: Arc::default() };
        signal_hook::flag::register(SIGINT, signals.interrupted.clone()).map_err(Error::from)?;
        let terminated = signal_hook::flag::register_usize(SIGTERM, signals.terminated.clone(), 1);
        terminated.map_err(Error::from)?;
        Ok(signals)
    }

    fn stop_requested(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.terminated.load(Ordering::Relaxed) > 0
    }
}

impl Supervisor<'_> {
    /// Handles tasks that have exited; returns the exit code if the cluster is done.
    fn poll(&mut self) -> Result<Option<u8>> {
        // The terminal sends Ctrl-C to the tasks as well; SIGTERM has to be forwarded.
        if self.signals.terminated.swap(0, Ordering::Relaxed) > 0 {
            self.signals.interrupted.store(true, Ordering::Relaxed);
            self.tasks.iter().for_each(|t| t.signal(Signal::TERM));
        }
        let stopping = self.signals.stop_requested();
        let mut chief_again = false;
        for (i, task) in self.tasks.iter_mut().enumerate() {
            let Some(status) = task.ended()? else { continue };
            let code = code(status);
            if code == 0 && task.plan.ends {
                if i == 0 {
                    return Ok(Some(0));
                }
                continue;
            }
            if !stopping {
                eprintln!("{} ended: {status}", task.plan.name);
            }
            if self.restart && code >= 128 && !stopping {
                task.start(self.command)?;
                chief_again |= i == 0;
            } else if i == 0 || !stopping {
                // Without it the others would wait forever.
                return Ok(Some(code.max(1)));
            }
        }
        if chief_again {
            // It may restore an earlier step, and need the workers that were done.
            let mut done = self.tasks.iter_mut().filter(|t| t.plan.ends && !t.is_running());
            done.try_for_each(|t| t.start(self.command))?;
        }
        Ok(None)
    }

    /// Waits for the tasks that exit by themselves, then sends SIGTERM to the rest.
    fn end(&mut self) -> Result<()> {
        if !self.signals.stop_requested() {
            self.wait(EXIT_TIMEOUT, |t| t.plan.ends)?;
        }
        self.tasks.iter().for_each(|t| t.signal(Signal::TERM));
        self.wait(TERM_TIMEOUT, |_| true)
        // Dropping a task kills it.
    }

    fn wait(&mut self, limit: Duration, whom: impl Fn(&Task) -> bool) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < limit && self.tasks.iter().any(|t| t.is_running() && whom(t)) {
            for task in &mut self.tasks {
                // The exit code no longer matters.
                task.ended()?;
            }
            std::thread::sleep(POLL_EVERY);
        }
        Ok(())
    }
}

/// As shells report it: 137 for a task that was killed.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
