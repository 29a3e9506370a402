//! Starts the tasks, starts again those that die, and stops all in the end.

use super::chaos::Chaos;
use super::cluster::Planned;
use super::task::Task;
use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thalweg_core::error::{Error, Result};

/// Between two looks at the tasks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What tasks that end by themselves get after the chief has.
const FAREWELL: Duration = Duration::from_secs(20);
/// What tasks get to end when they are told to; the chief saves.
const GRACE: Duration = Duration::from_secs(40);

struct Supervisor<'a> {
    /// The chief first.
    tasks: Vec<Task>,
    command: &'a [OsString],
    restart: bool,
    told: Told,
}

/// What the supervisor itself was told.
struct Told {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicUsize>,
}

/// Runs the cluster until its chief has ended for good: with which exit code.
pub fn supervise(planned: Vec<Planned>, command: &[OsString], restart: bool, mut chaos: Chaos) -> Result<u8> {
    let width = planned.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let progress = Arc::default();
    let number = |(i, p): (usize, Planned)| Task::new(p, i, width, Arc::clone(&progress));
    let tasks = planned.into_iter().enumerate().map(number).collect();
    let mut all = Supervisor { tasks, command, restart, told: Told::listen()? };
    all.tasks.iter_mut().try_for_each(|task| task.start(command))?;
    let code = loop {
        if let Some(code) = all.look()? {
            break code;
        }
        chaos.strike(&all.tasks);
        std::thread::sleep(LOOK_EVERY);
    };
    all.end()?;
    if let Some(summary) = chaos.summary() {
        eprintln!("{summary}");
    }
    Ok(code)
}

impl Told {
    fn listen() -> Result<Told> {
        let told = Told { interrupted: Arc::default(), terminated: Arc::default() };
        signal_hook::flag::register(SIGINT, told.interrupted.clone()).map_err(Error::from)?;
        let terminated = signal_hook::flag::register_usize(SIGTERM, told.terminated.clone(), 1);
        terminated.map_err(Error::from)?;
        Ok(told)
    }

    fn to_stop(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.terminated.load(Ordering::Relaxed) > 0
    }
}

impl Supervisor<'_> {
    /// Sees to tasks that have ended; the exit code, if the cluster is at its end.
    fn look(&mut self) -> Result<Option<u8>> {
        // Ctrl-C reaches tasks by itself, SIGTERM does not.
        if self.told.terminated.swap(0, Ordering::Relaxed) > 0 {
            self.told.interrupted.store(true, Ordering::Relaxed);
            self.tasks.iter().for_each(|t| t.signal(Signal::TERM));
        }
        let stopping = self.told.to_stop();
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
                // Without it the others would wait for ever.
                return Ok(Some(code.max(1)));
            }
        }
        if chief_again {
            // It may go back to before the end, and need those that were done.
            let mut done = self.tasks.iter_mut().filter(|t| t.plan.ends && !t.is_running());
            done.try_for_each(|t| t.start(self.command))?;
        }
        Ok(None)
    }

    /// Waits for those that end by themselves, then stops the rest, then kills.
    fn end(&mut self) -> Result<()> {
        if !self.told.to_stop() {
            self.wait(FAREWELL, |t| t.plan.ends)?;
        }
        self.tasks.iter().for_each(|t| t.signal(Signal::TERM));
        self.wait(GRACE, |_| true)
        // Dropping kills.
    }

    fn wait(&mut self, limit: Duration, whom: impl Fn(&Task) -> bool) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < limit && self.tasks.iter().any(|t| t.is_running() && whom(t)) {
            for task in &mut self.tasks {
                // One that is killed now has nothing left to do.
                task.ended()?;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// As shells say it: 137 for a task that was killed.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
