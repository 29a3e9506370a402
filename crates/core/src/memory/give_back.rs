//! Giving freed memory back to the system. malloc keeps what is freed between blocks that live, and a large graph leaves much of it.

use super::count;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Less than this is not worth a walk through all of malloc's blocks.
const WORTH_IT: usize = 64 << 20;
/// Where a walk did not help, the next would not either.
const NOT_BEFORE: Duration = Duration::from_millis(200);

static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Gives back what malloc holds and nobody uses, if it is much. For the end of what held much: a session, a graph.
pub fn give_back() {
    count::tell_all();
    let unused = system::resident().unwrap_or(0).saturating_sub(count::live());
    if unused < WORTH_IT.max(count::live() / 4) {
        return;
    }
    {
        // Another thread that is at it does it for us too.
        let Ok(mut last) = LAST.try_lock().or_else(|e| match e {
            std::sync::TryLockError::Poisoned(p) => Ok::<_, ()>(PoisonError::into_inner(p)),
            std::sync::TryLockError::WouldBlock => Err(()),
        }) else {
            return;
        };
        if last.is_some_and(|at| at.elapsed() < NOT_BEFORE) {
            return;
        }
        *last = Some(Instant::now());
    }
    crate::buffer::release_kept();
    system::trim();
}

/// For threads that end: their count is added to the sum.
pub fn end_thread() {
    count::tell_all();
}

/// Settings of malloc for a process that is to keep within a limit.
pub fn tune_malloc() {
    system::tune();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    /// Blocks from this size on are mappings of their own and leave with them. Left alone, malloc raises it with what is freed, up to
    /// 32 MiB, and keeps what is smaller.
    const MMAP_THRESHOLD: libc::c_int = 1 << 20;
    /// Free memory at the end of the heap that stays for what comes next.
    const TRIM_THRESHOLD: libc::c_int = 32 << 20;
    /// Parts of the heap that threads use side by side. Each keeps what is freed in it, and sets aside 64 MiB of addresses.
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
        // SAFETY: malloc may be told so at any time.
        unsafe { libc::malloc_trim(0) };
    }

    /// Bytes of memory that the process has.
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
