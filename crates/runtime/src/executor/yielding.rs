//! Threads that a step must not keep: those of the pool, and those that deliver answers. A step on one yields it after a time slice
//! and is scheduled again, so that endless loops do not take all threads.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static MUST_YIELD: Cell<bool> = const { Cell::new(false) };
}

/// How long a step may keep such a thread.
pub const SLICE: Duration = Duration::from_millis(2);

/// Whether this thread is one of them.
pub fn must_yield() -> bool {
    MUST_YIELD.get()
}

/// Works on a thread that must not be kept.
pub fn yielding<T>(work: impl FnOnce() -> T) -> T {
    with(true, work)
}

/// Works on a thread whose owner waits for the end.
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
