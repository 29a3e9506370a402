//! Returns freed memory to the system. malloc keeps free blocks between live ones, of which a large graph leaves many.

use super::count;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Unused bytes that are worth a `malloc_trim`, which walks all blocks.
const MIN_UNUSED: usize = 64 << 20;
/// The least time between two calls of `malloc_trim`.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Trims malloc's unused memory, if it is much. Called when a session or a graph is dropped.
pub fn trim() {
    count::flush_thread();
    let unused = system::resident().unwrap_or(0).saturating_sub(count::live());
    if unused < MIN_UNUSED.max(count::live() / 4) {
        return;
    }
    {
        // A concurrent trim.
        let Ok(mut last) = LAST.try_lock().or_else(|e| match e {
            std::sync::TryLockError::Poisoned(p) => Ok::<_, ()>(PoisonError::into_inner(p)),
            std::sync::TryLockError::WouldBlock => Err(()),
        }) else {
            return;
        };
        if last.is_some_and(|at| at.elapsed() < MIN_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
    }
    crate::buffer::release_cached();
    system::trim();
}

/// For exiting threads: adds their count to the sum.
pub fn end_thread() {
    count::flush_thread();
}

/// malloc settings for a process with a memory limit.
pub fn tune_malloc() {
    system::tune();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    /// Blocks from this size on are mapped separately, and unmapped when freed. By default malloc raises the threshold up to
    /// 32 MiB, and keeps smaller blocks.
    const MMAP_THRESHOLD: libc::c_int = 1 << 20;
    /// Free memory kept at the top of the heap.
    const TRIM_THRESHOLD: libc::c_int = 32 << 20;
    /// Arenas, which threads use concurrently. Each keeps its free blocks, and reserves 64 MiB of addresses.
    const ARENAS: libc::c_int = 8;

    pub fn tune() {
        // SAFETY: plain settings.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD);
            libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD);
            libc::mallopt(libc::M_ARENA_MAX, ARENAS);
        }
    }

    pub fn trim() {
        // SAFETY: may be called at any time.
        unsafe { libc::malloc_trim(0) };
    }

    /// The resident set size.
    pub fn resident() -> Option<usize> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        text.split_whitespace().nth(1)?.parse::<usize>().ok()?.checked_mul(4096)
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod system {
    pub fn tune() {}

    pub fn trim() {}

    pub fn resident() -> Option<usize> {
        None
    }
}
