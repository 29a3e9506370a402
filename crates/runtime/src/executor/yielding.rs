//! Threads that a step must not block: those of the pool, and those that deliver completions. A step yields them after a time slice
//! and is rescheduled, so that endless loops do not occupy all threads.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static MUST_YIELD: Cell<bool> = const { Cell::new(false) };
}

/// Time slice of a step on such a thread.
pub const SLICE: Duration = Duration::from_millis(2);

/// Whether this thread is one of them.
pub fn must_yield() -> bool {
    MUST_YIELD.get()
}

/// Runs `work` on a thread to be yielded.
pub fn yielding<T>(work: impl FnOnce() -> T) -> T {
    with(true, work)
}

/// Runs `work` on a thread whose owner waits.
pub fn keeping<T>(work: impl FnOnce() -> T) -> T {
    with(false, work)
}

fn with<T>(must_yield: bool, work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            MUST_YIELD.set(self.0);
        }
    }
    let _before = Restore(MUST_YIELD.replace(must_yield));
    work()
}
