//! One parallel for loop, shared by its caller and the workers that join in.
//!
//! The body is borrowed from the caller's stack while workers hold the loop in an `Arc`
//! that may outlive the call. This is sound by one rule: the body is called only
//! for a claimed chunk, and [`run`] does not return before every chunk is done.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use super::spin_until;

type Body<'a> = dyn Fn(Range<usize>) + Sync + 'a;

pub(super) struct SharedLoop {
    /// Valid until `done == chunks`; see the module's rule.
    body: *const Body<'static>,
    n: usize,
    chunk: usize,
    chunks: usize,
    /// The first unclaimed chunk.
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

// SAFETY: all fields but `body` are `Send + Sync`; `body` points to a `Sync` closure,
// and is dereferenced only as the module's rule allows.
unsafe impl Send for SharedLoop {}
// SAFETY: as above.
unsafe impl Sync for SharedLoop {}

/// Runs `body` over `0..n` in chunks of `chunk`, here and in every thread that calls
/// [`SharedLoop::help`] on the loop that `publish` enqueues. `retract` dequeues it when no
/// chunk is left to claim.
pub(super) fn run(
    n: usize,
    chunk: usize,
    body: &Body<'_>,
    publish: impl FnOnce(&Arc<SharedLoop>),
    retract: impl FnOnce(&Arc<SharedLoop>),
) {
    // SAFETY: only the lifetime changes. The pointer is dereferenced only in `SharedLoop::work`,
    // for claimed chunks, and this function returns (or unwinds) only after `wait`, when all
    // chunks are done. `publish` and `retract` come from `Queue` and do not panic with the
    // loop shared; if one did, the guard below still waits.
    let body = unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) };
    let job = Arc::new(SharedLoop {
        body,
        n,
        chunk,
        chunks: n.div_ceil(chunk),
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        panic: Mutex::new(None),
        caller: thread::current(),
    });
    let finish = FinishOnDrop(&job);
    publish(&job);
    job.work();
    retract(&job);
    drop(finish);
    let panic = job.panic.lock().unwrap().take();
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

/// Joins on return and on unwinding: no chunk runs after the caller's stack frame is gone.
struct FinishOnDrop<'a>(&'a SharedLoop);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.work();
        self.0.wait();
    }
}

impl SharedLoop {
    pub(super) fn has_unclaimed(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.chunks
    }

    /// A worker's share: runs chunks until none is unclaimed.
    pub(super) fn help(&self) {
        if self.work() {
            // The caller may be asleep, waiting for these chunks.
            self.caller.unpark();
        }
    }

    /// Claims and runs chunks until none are left; returns whether these were the last to finish.
    fn work(&self) -> bool {
        let mut mine = 0;
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.chunks {
                break;
            }
            self.run_chunk(index);
            mine += 1;
        }
        // Release: the chunks' writes are visible to the caller that reads the count.
        mine > 0 && self.done.fetch_add(mine, Ordering::AcqRel) + mine == self.chunks
    }

    fn run_chunk(&self, index: usize) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let start = index * self.chunk;
        let range = start..self.n.min(start.saturating_add(self.chunk));
        // SAFETY: chunk `index` is claimed and not yet counted in `done`, so `run` is still
        // waiting and its borrow of the body is alive.
        let body = unsafe { &*self.body };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(range))) {
            self.failed.store(true, Ordering::Relaxed);
            self.panic.lock().unwrap().get_or_insert(payload);
        }
    }

    fn wait(&self) {
        let ended = || self.done.load(Ordering::Acquire) == self.chunks;
        if !spin_until(ended) {
            while !ended() {
                thread::park();
            }
        }
    }
}
