//! The priority of threads that compile and compute for clients.
//!
//! It is below that of io threads, so that a short call does not wait for a core that a long step uses. The priority of a thread can be
//! lowered without privileges, but not raised again: it belongs to the thread, not to the step.

/// How much nicer they are: a third of the CPU time that an io thread gets when both want all of it.
#[cfg(target_os = "linux")]
const NICER: i32 = 5;

/// Runs this on a thread of low priority, which threads inherit that it starts.
pub fn with_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> std::thread::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            lower(base());
            work()
        });
        thread.join()
    })
}

/// The priority of this thread, from which others are lowered.
#[cfg(target_os = "linux")]
pub fn base() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// Lowers the priority of this thread. If that fails, it only competes more.
#[cfg(target_os = "linux")]
pub fn lower(base: i32) {
    // Without an id, Linux takes the calling thread; other systems its process.
    let _ = rustix::process::setpriority_process(None, (base + NICER).min(19));
}

#[cfg(not(target_os = "linux"))]
pub fn base() -> i32 {
    0
}

#[cfg(not(target_os = "linux"))]
pub fn lower(_: i32) {}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_threads_and_those_they_start_are_nicer() {
        let before = base();
        let inherited = with_low_priority(|| (base(), std::thread::spawn(base).join().unwrap())).unwrap();
        let low = (before + NICER).min(19);
        assert_eq!((inherited, base()), ((low, low), before));
    }
}
