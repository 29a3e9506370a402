//! Live bytes of the process. Threads count for themselves and add to the sum now and then, so that counting costs next to nothing.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// How far a thread's count may be from what it has added to the sum.
const DRIFT: isize = 64 << 10;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static CEILING: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes that are kept for those who cannot be refused, all together.
static PROMISED: AtomicUsize = AtomicUsize::new(0);
/// Whether the allocator of the program counts. If not, buffers do.
static ALLOCATOR_COUNTS: AtomicBool = AtomicBool::new(false);

struct Thread {
    /// Bytes allocated here less those freed here.
    net: Cell<isize>,
    /// How much of it is in the sum.
    told: Cell<isize>,
    /// Bytes that are kept for it.
    promised: Cell<usize>,
}

thread_local! {
    static THREAD: Thread =
        const { Thread { net: Cell::new(0), told: Cell::new(0), promised: Cell::new(0) } };
}

/// How much memory the process may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Live bytes beyond which requests are refused in words.
    pub limit: usize,
    /// Live bytes beyond which the allocator itself refuses: the system would end the process instead.
    pub ceiling: usize,
}

impl Limits {
    /// What is left of a total beside stacks, code, page tables and what malloc cannot use.
    pub fn within(total: usize) -> Limits {
        let headroom = (total / 10).max(64 << 20).min(total / 4);
        Limits { limit: total - headroom, ceiling: total - headroom / 4 }
    }
}

pub fn set_limits(limits: Limits) {
    LIMIT.store(limits.limit, Ordering::Relaxed);
    CEILING.store(limits.ceiling.max(limits.limit), Ordering::Relaxed);
}

#[inline]
pub fn limits() -> Limits {
    Limits { limit: LIMIT.load(Ordering::Relaxed), ceiling: CEILING.load(Ordering::Relaxed) }
}

/// Bytes of the heap that are in use, to some 64 KiB per thread.
#[inline]
pub fn live() -> usize {
    usize::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Whether so many bytes more stay below the ceiling, with what is kept for other threads. Who has a promise gets what is there: the
/// others' is promised beside it, and part of it is live already.
#[inline]
pub fn room(bytes: usize) -> bool {
    let is_promised = THREAD.try_with(|t| t.promised.get() > 0).unwrap_or(false);
    let others = if is_promised { 0 } else { promised() };
    live().saturating_add(others).saturating_add(bytes) <= CEILING.load(Ordering::Relaxed)
}

/// Bytes that are kept for those who cannot be refused.
#[inline]
pub fn promised() -> usize {
    PROMISED.load(Ordering::Relaxed)
}

/// Keeps so many bytes for this thread.
pub fn promise(bytes: usize) {
    PROMISED.fetch_add(bytes, Ordering::Relaxed);
    let _ = THREAD.try_with(|t| t.promised.set(t.promised.get().saturating_add(bytes)));
}

/// Takes back what `promise` has promised.
pub fn end_promise(bytes: usize) {
    PROMISED.fetch_sub(bytes, Ordering::Relaxed);
    let _ = THREAD.try_with(|t| t.promised.set(t.promised.get().saturating_sub(bytes)));
}

/// Notes bytes allocated (or freed, if negative) on this thread.
#[inline]
pub fn add(bytes: isize) {
    // A thread without its locals is about to end.
    let _ = THREAD.try_with(|t| {
        let net = t.net.get().wrapping_add(bytes);
        t.net.set(net);
        if net.wrapping_sub(t.told.get()).unsigned_abs() >= DRIFT as usize {
            tell(t);
        }
    });
}

#[cold]
fn tell(t: &Thread) {
    LIVE.fetch_add(t.net.get().wrapping_sub(t.told.get()), Ordering::Relaxed);
    t.told.set(t.net.get());
}

/// Adds to the sum what this thread has not added yet.
pub fn tell_all() {
    let _ = THREAD.try_with(tell);
}

/// Notes memory of buffers, in programs whose allocator does not.
pub fn note_buffer(bytes: isize) {
    if !ALLOCATOR_COUNTS.load(Ordering::Relaxed) {
        add(bytes);
    }
}

/// Memory of a block that was made on a peer's word and is not there before it is written: it is not counted until then.
#[derive(Debug, Default)]
pub struct Untouched(usize);

impl Untouched {
    /// Of a block of so many bytes that has just been made.
    pub fn new(bytes: usize) -> Untouched {
        // Smaller ones are no mappings of their own.
        let bytes = if bytes >= MAPPED { bytes } else { 0 };
        add(-(bytes as isize));
        Untouched(bytes)
    }

    /// So many bytes of it have been written.
    pub fn touch(&mut self, bytes: usize) {
        let bytes = bytes.min(self.0);
        self.0 -= bytes;
        add(bytes as isize);
    }
}

impl Drop for Untouched {
    fn drop(&mut self) {
        add(self.0 as isize);
    }
}

const MAPPED: usize = 1 << 20;

pub fn find_out_who_counts() {
    let meter = Meter::start();
    let probe = std::hint::black_box(Vec::<u8>::with_capacity(1024));
    ALLOCATOR_COUNTS.store(meter.grown() >= 1024, Ordering::Relaxed);
    drop(probe);
}

/// How much more this thread holds than when the meter was started.
pub struct Meter(isize);

impl Meter {
    pub fn start() -> Meter {
        Meter(net())
    }

    /// Nothing where the allocator does not count.
    pub fn grown(&self) -> usize {
        usize::try_from(net().wrapping_sub(self.0)).unwrap_or(0)
    }
}

fn net() -> isize {
    THREAD.try_with(|t| t.net.get()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_allocates_and_another_frees_is_even() {
        let before = LIVE.load(Ordering::Relaxed);
        let meter = Meter::start();
        add(10 << 20);
        assert_eq!(meter.grown(), 10 << 20);
        let there = std::thread::spawn(|| {
            add(-(10 << 20));
            tell_all();
        });
        there.join().unwrap();
        tell_all();
        // Other tests of this process make buffers meanwhile.
        assert!((LIVE.load(Ordering::Relaxed) - before).abs() < 9 << 20);
    }

    #[test]
    fn what_is_announced_counts_when_it_is_written() {
        let meter = Meter::start();
        // As the allocator would.
        add(100 << 20);
        let mut untouched = Untouched::new(100 << 20);
        assert_eq!(meter.grown(), 0);
        untouched.touch(30 << 20);
        assert_eq!(meter.grown(), 30 << 20);
        untouched.touch(usize::MAX);
        assert_eq!(meter.grown(), 100 << 20);
        drop(untouched);
        drop(Untouched::new(100 << 20));
        drop(Untouched::new(10));
        assert_eq!(meter.grown(), 100 << 20);
        add(-(100 << 20));
        tell_all();
    }

    #[test]
    fn small_and_large_totals_leave_headroom() {
        let small = Limits::within(300 << 20);
        assert_eq!((small.limit, small.ceiling), (236 << 20, 284 << 20));
        let large = Limits::within(100 << 30);
        assert_eq!(large.limit, 90 << 30);
        assert_eq!(Limits::within(0), Limits { limit: 0, ceiling: 0 });
    }
}
