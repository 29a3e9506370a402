//! Steps of the main thread, which Ctrl-C must be able to stop. Python runs signal handlers on that thread only, and only when asked: so a
//! step that may take long is run by another thread, and the main thread waits and asks.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use thalweg_client::{Callable, Cancellation, Error, Result, RunMetadata, RunOptions, Tensor};
use thalweg_core::error::{cancelled, deadline_exceeded, failed_precondition, internal};

static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// How often this process is a fork of one that had imported the module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// How often the main thread asks for signals.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The least time between two looks at the clock.
const BRIEF: Duration = Duration::from_millis(1);

/// Steps that ended within this time the last time are run by the main thread itself.
const SHORT: Duration = Duration::from_millis(3);

pub type StepResult = Result<(Vec<Tensor>, RunMetadata)>;

/// Remembers the main thread, if it is the one that imports the module.
pub fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?;
    if threading.call_method0("current_thread")?.is(&main) {
        MAIN_THREAD.get_or_init(|| thread::current().id());
    }
    Ok(())
}

/// Called in the child after a fork: the threads of its sessions are gone.
#[pyfunction]
#[pyo3(name = "_forked")]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// An error for what was made before a fork.
pub fn check_fork(made: u64) -> Result<()> {
    if made == forks() {
        return Ok(());
    }
    Err(failed_precondition(
        "this session or function was made before the process forked, and its threads are the parent's; make one in the child",
    ))
}

fn on_main_thread() -> bool {
    MAIN_THREAD.get().is_some_and(|main| *main == thread::current().id())
}

/// The result of a step that another thread may set.
#[derive(Default)]
struct Slot {
    result: Mutex<Option<StepResult>>,
    set: Condvar,
}

impl Slot {
    fn set(&self, result: StepResult) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.set.notify_all();
    }

    fn wait(&self, time: Duration) -> Option<StepResult> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_none() {
            result = self.set.wait_timeout(result, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        result.take()
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread that runs the main thread's long steps, one for each session.
#[derive(Default)]
pub struct Runner(Mutex<Option<mpsc::Sender<Job>>>);

impl Runner {
    fn run(&self, job: Job) -> Result<()> {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &mut *sender {
            Some(sender) => sender,
            none => {
                let (tx, rx) = mpsc::channel::<Job>();
                let run = move || rx.into_iter().for_each(|job| job());
                thread::Builder::new().name("thalweg-step".into()).spawn(run)?;
                none.insert(tx)
            }
        };
        sender.send(job).map_err(|_| internal("the thread of steps has ended"))
    }
}

/// What a step needs: compiled before, or by this.
pub type Prepare = Box<dyn FnOnce(&RunOptions) -> Result<Arc<Callable>> + Send>;

/// Runs a step with Python released. On the main thread, signals interrupt it.
pub fn run(
    py: Python<'_>,
    runner: &Runner,
    known: Option<Arc<Callable>>,
    prepare: Prepare,
    values: Vec<Tensor>,
    mut options: RunOptions,
) -> PyResult<StepResult> {
    if !on_main_thread() {
        return Ok(py.detach(move || match known {
            Some(callable) => callable.run_with(values, &options),
            None => prepare(&options)?.run_with(values, &options),
        }));
    }
    let cancel = Arc::new(Cancellation::default());
    options.cancel = Some(cancel.clone());
    // A step that was started and waits is not ended by its time limit: that is for the waiting thread.
    let deadline = options.timeout.and_then(|limit| Instant::now().checked_add(limit));
    let ask_after =
        || deadline.map_or(ASK_EVERY, |d| ASK_EVERY.min(d.saturating_duration_since(Instant::now())));
    let slot = Arc::new(Slot::default());
    let done = slot.clone();
    let first = py.detach(|| {
        match known {
            Some(callable) if callable.starts_within(SHORT) => {
                callable.start(values, &options, Box::new(move |r| done.set(r)));
            }
            known => {
                let failed = done.clone();
                let job = move || match known.map_or_else(|| prepare(&options), Ok) {
                    Ok(callable) => callable.start(values, &options, Box::new(move |r| done.set(r))),
                    Err(e) => done.set(Err(e)),
                };
                if let Err(e) = runner.run(Box::new(job)) {
                    failed.set(Err(e));
                }
            }
        }
        slot.wait(ask_after())
    });
    if let Some(result) = first {
        return Ok(result);
    }
    loop {
        if let Err(interrupt) = py.check_signals() {
            return Err(stop(py, &cancel, &slot, interrupt));
        }
        if deadline.is_some_and(|d| d <= Instant::now()) {
            cancel.cancel(deadline_exceeded("the step did not end within its time limit"));
        }
        if let Some(result) = py.detach(|| slot.wait(ask_after().max(BRIEF))) {
            return Ok(result);
        }
    }
}

/// Runs what may wait, with Python released. On the main thread, signals interrupt it.
pub fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    run: impl FnOnce(Arc<Cancellation>) -> Result<T> + Send + 'static,
) -> PyResult<Result<T>> {
    let cancel = Arc::new(Cancellation::default());
    if !on_main_thread() {
        return Ok(py.detach(|| run(cancel)));
    }
    let (done, result) = mpsc::sync_channel(1);
    let theirs = cancel.clone();
    let started =
        thread::Builder::new().name("thalweg-step".into()).spawn(move || drop(done.send(run(theirs))));
    if let Err(e) = started {
        return Ok(Err(e.into()));
    }
    let result = Mutex::new(result);
    let wait = |time: Duration| {
        let waited = result.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
        match waited {
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Err(internal("the op never ended"))),
            Ok(result) => Some(result),
        }
    };
    loop {
        if let Some(result) = py.detach(|| wait(ASK_EVERY)) {
            return Ok(result);
        }
        if let Err(interrupt) = py.check_signals() {
            py.detach(|| {
                cancel.cancel(cancelled("the op was interrupted"));
                drop(wait(Duration::from_secs(5)));
            });
            return Err(interrupt);
        }
    }
}

/// Cancels the step and waits for its end, but not for ever: a kernel that does not look is left behind.
fn stop(py: Python<'_>, cancel: &Cancellation, slot: &Slot, interrupt: PyErr) -> PyErr {
    let reason: Error = cancelled("the step was interrupted");
    py.detach(|| {
        cancel.cancel(reason);
        drop(slot.wait(Duration::from_secs(5)));
    });
    interrupt
}
