//! The thread pool: fork-join loops and spawned tasks.
//!
//! Two kinds of work share one queue: parallel for *loops*, short, whose caller takes part
//! and joins ([`Parallel::run_ranges`]), and detached *tasks* of any length
//! ([`Pool::spawn`]). Workers take loops first.
//!
//! A caller never waits for a chunk that no thread has started: it claims chunks until none
//! are left, and only then waits for those that others have claimed. So loops may nest,
//! and finish even when every worker is busy with a long task.
//!
//! An idle worker spins for [`SPIN`] before it sleeps: waking a sleeping thread
//! costs more than a small matrix product.

mod shared_loop;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::parallel::Parallel;
use shared_loop::SharedLoop;

/// The limit on the size of a pool; a larger number is a mistake.
pub const MAX_THREADS: usize = 1024;

/// How long a thread spins, for work or for the end of a loop, before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// Chunks per thread, for load balance when a thread is preempted.
const CHUNKS_PER_THREAD: usize = 4;

type Task = Box<dyn FnOnce() + Send>;

/// A thread pool. Dropping it drains the queued tasks, then joins the workers.
pub struct Pool {
    threads: usize,
    queue: Arc<Queue>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    has_worker: AtomicBool,
}

impl Pool {
    /// A pool in which `threads` threads work on one loop: the caller and `threads - 1` workers.
    pub fn new(threads: usize) -> io::Result<Arc<Pool>> {
        if threads == 0 || threads > MAX_THREADS {
            let message = format!("a pool needs 1 to {MAX_THREADS} threads, not {threads}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let pool = Pool {
            threads,
            queue: Arc::default(),
            workers: Mutex::default(),
            has_worker: AtomicBool::new(false),
        };
        for _ in 1..threads {
            pool.start_worker(&mut pool.workers.lock().unwrap())?;
        }
        Ok(Arc::new(pool))
    }

    /// Enqueues a task. A panic in it ends the task only.
    ///
    /// A pool of one thread has no workers until the first task, which starts one.
    pub fn spawn(&self, task: Task) {
        if !self.has_worker.load(Ordering::Acquire) && self.start_first_worker().is_err() {
            // No thread could be started: run the task on the caller's.
            run_task(task);
        } else {
            self.queue.push_task(task);
        }
    }

    /// Enqueues a task at a later time. It is dropped if the pool ends before.
    pub fn spawn_at(&self, when: Instant, task: Task) {
        if !self.has_worker.load(Ordering::Acquire) && self.start_first_worker().is_err() {
            // No thread could be started: too early is better than never.
            run_task(task);
        } else {
            self.queue.push_later(when, task);
        }
    }

    fn start_first_worker(&self) -> io::Result<()> {
        let mut workers = self.workers.lock().unwrap();
        if workers.is_empty() { self.start_worker(&mut workers) } else { Ok(()) }
    }

    fn start_worker(&self, workers: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
        let queue = self.queue.clone();
        let name = format!("thalweg-{}", workers.len());
        workers.push(thread::Builder::new().name(name).spawn(move || work(&queue))?);
        self.has_worker.store(true, Ordering::Release);
        Ok(())
    }
}

impl Parallel for Pool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run_ranges(&self, n: usize, grain: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
        if n == 0 {
            return;
        }
        if n <= grain || self.threads == 1 {
            return body(0..n);
        }
        let chunk = chunk_size(n, grain.max(1), self.threads);
        if chunk >= n {
            return body(0..n);
        }
        shared_loop::run(n, chunk, body, |job| self.queue.push_loop(job), |job| self.queue.remove_loop(job));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.close();
        let me = thread::current().id();
        for worker in self.workers.get_mut().unwrap().drain(..) {
            // The last owner of a pool may be a task running on it: its thread cannot
            // join itself, and ends on its own.
            if worker.thread().id() != me {
                // Workers catch panics, so there is none to propagate.
                let _ = worker.join();
            }
        }
    }
}

/// The smallest multiple of `grain` that makes at most `CHUNKS_PER_THREAD` chunks for each thread.
fn chunk_size(n: usize, grain: usize, threads: usize) -> usize {
    let grains = n.div_ceil(grain);
    grains.div_ceil(threads * CHUNKS_PER_THREAD).saturating_mul(grain)
}

/// The queue of work.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// The number of entries in `state`, which spinning workers read without the lock.
    entries: AtomicUsize,
}

#[derive(Default)]
struct State {
    loops: VecDeque<Arc<SharedLoop>>,
    tasks: VecDeque<Task>,
    /// Tasks for later, by time and order.
    later: BTreeMap<(Instant, u64), Task>,
    next_later: u64,
    sleepers: usize,
    closed: bool,
}

enum Work {
    Loop(Arc<SharedLoop>),
    Task(Task),
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap()
    }

    fn push_task(&self, task: Task) {
        let mut state = self.lock();
        state.tasks.push_back(task);
        self.publish(state);
    }

    fn push_later(&self, when: Instant, task: Task) {
        let mut state = self.lock();
        let number = state.next_later;
        state.next_later += 1;
        state.later.insert((when, number), task);
        let first = state.later.first_key_value().is_some_and(|((at, n), _)| (*at, *n) == (when, number));
        let wake = first && state.sleepers > 0;
        drop(state);
        if wake {
            // A sleeper then sleeps until this time at most.
            self.wake.notify_one();
        }
    }

    fn push_loop(&self, job: &Arc<SharedLoop>) {
        let mut state = self.lock();
        state.loops.push_back(job.clone());
        self.publish(state);
    }

    fn remove_loop(&self, job: &Arc<SharedLoop>) {
        let mut state = self.lock();
        state.loops.retain(|other| !Arc::ptr_eq(other, job));
        self.count(&state);
    }

    fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    fn count(&self, state: &State) {
        self.entries.store(state.loops.len() + state.tasks.len(), Ordering::Release);
    }

    /// Publishes the length of a changed queue, and wakes one sleeping worker. If there is work for
    /// more, that one wakes the next: waking is not to delay the enqueuing thread.
    fn publish(&self, state: MutexGuard<'_, State>) {
        self.count(&state);
        let wake = state.sleepers > 0 && state.has_work();
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// The next piece of work; `None` when the queue is closed and empty.
    fn next(&self) -> Option<Work> {
        loop {
            let seen = spin_until(|| self.entries.load(Ordering::Acquire) > 0);
            let mut state = self.lock();
            let due_in = state.take_due();
            if let Some(work) = state.take() {
                self.publish(state);
                return Some(work);
            }
            self.count(&state);
            if state.closed {
                return None;
            }
            // Another worker took the work; more is likely to follow: keep spinning.
            if !seen {
                state.sleepers += 1;
                state = match due_in {
                    None => self.wake.wait(state).unwrap(),
                    Some(left) => self.wake.wait_timeout(state, left).unwrap().0,
                };
                state.sleepers -= 1;
            }
        }
    }
}

impl State {
    fn has_work(&self) -> bool {
        !self.tasks.is_empty() || self.loops.iter().any(|job| job.has_unclaimed())
    }

    /// Enqueues the tasks whose time has come. How long it is to the next.
    fn take_due(&mut self) -> Option<Duration> {
        while let Some(next) = self.later.first_entry() {
            let left = next.key().0.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Some(left);
            }
            self.tasks.push_back(next.remove());
        }
        None
    }

    fn take(&mut self) -> Option<Work> {
        while let Some(job) = self.loops.front() {
            if job.has_unclaimed() {
                return Some(Work::Loop(job.clone()));
            }
            self.loops.pop_front();
        }
        self.tasks.pop_front().map(Work::Task)
    }
}

/// The main loop of a worker.
fn work(queue: &Queue) {
    while let Some(work) = queue.next() {
        match work {
            Work::Loop(job) => job.help(),
            Work::Task(task) => run_task(task),
        }
    }
}

fn run_task(task: Task) {
    // The panic hook has reported it; no caller waits for it.
    let _ = catch_unwind(AssertUnwindSafe(task));
}

/// Spins until `ready` or until [`SPIN`] has passed; returns whether it became ready.
fn spin_until(ready: impl Fn() -> bool) -> bool {
    if ready() {
        return true;
    }
    let start = Instant::now();
    loop {
        for _ in 0..8 {
            std::hint::spin_loop();
            if ready() {
                return true;
            }
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}

#[cfg(test)]
mod tests;
