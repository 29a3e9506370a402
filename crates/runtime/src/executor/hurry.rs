//! Threads that are not to be kept: those of the pool, and those that pass on answers. What runs there gives its thread to others
//! after a while and goes on when its turn comes again, so that loops without end do not take all threads.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static IN_HURRY: Cell<bool> = const { Cell::new(false) };
}

/// How long a step may keep such a thread.
pub const SLICE: Duration = Duration::from_millis(2);

/// Whether this thread is one of them.
pub fn is_in_hurry() -> bool {
    IN_HURRY.get()
}

/// Works on a thread that is not to be kept.
pub fn in_hurry<T>(work: impl FnOnce() -> T) -> T {
    with(true, work)
}

/// Works on a thread whose owner waits for the end.
pub fn at_leisure<T>(work: impl FnOnce() -> T) -> T {
    with(false, work)
}

fn with<T>(hurry: bool, work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_HURRY.set(self.0);
        }
    }
    let _before = Restore(IN_HURRY.replace(hurry));
    work()
}
