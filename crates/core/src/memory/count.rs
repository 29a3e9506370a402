//! Live bytes of the process. Each thread counts its own and adds them to the sum in batches, so that counting is cheap.

use crate::error::Result;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// Bytes that a thread may allocate or free before it adds them to the sum.
const DRIFT: isize = 64 << 10;

/// Blocks below this size may pass the ceiling by a little: they are tables and queues of a server, whose growth cannot fail. Larger
/// ones, tensors of clients, stop below it, so that small steps of others still find room.
const TABLE: usize = 1 << 20;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static CEILING: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes reserved by promises of all threads.
static PROMISED: AtomicUsize = AtomicUsize::new(0);
/// Whether the allocator of the program counts. If not, buffers do.
static ALLOCATOR_COUNTS: AtomicBool = AtomicBool::new(false);

struct Thread {
    /// Bytes allocated here less those freed here.
    net: Cell<isize>,
    /// How much of it is in the sum.
    flushed: Cell<isize>,
    /// Bytes reserved by its promises.
    promised: Cell<usize>,
}

thread_local! {
    static THREAD: Thread =
        const { Thread { net: Cell::new(0), flushed: Cell::new(0), promised: Cell::new(0) } };
}

/// How much memory the process may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Live bytes beyond which requests fail with an error.
    pub limit: usize,
    /// Live bytes beyond which the allocator itself fails, before the system kills the process.
    pub ceiling: usize,
}

impl Limits {
    /// A total less headroom for stacks, code, page tables and fragmentation.
    pub fn within(total: usize) -> Limits {
        let headroom = (total / 10).max(64 << 20).min(total / 4);
        Limits { limit: total - headroom, ceiling: total - headroom / 4 }
    }

    /// The ceiling for one block: half as far from the total for tables, twice as far for tensors.
    #[inline]
    fn ceiling_for(self, bytes: usize) -> usize {
        let gap = self.ceiling.saturating_sub(self.limit);
        match bytes < TABLE {
            true => self.ceiling.saturating_add(gap / 6),
            false => self.ceiling - gap / 3,
        }
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

/// Live bytes of the heap, exact to some 64 KiB per thread.
#[inline]
pub fn live() -> usize {
    usize::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Whether a block of so many bytes, which are counted already, leaves the process below the ceiling, with the promises of other threads.
/// A thread with a promise is not checked against the others': they were counted when it was made.
#[inline]
pub fn fits(bytes: usize) -> bool {
    let is_promised = THREAD.try_with(|t| t.promised.get() > 0).unwrap_or(false);
    let others = if is_promised { 0 } else { promised() };
    live().saturating_add(others) <= limits().ceiling_for(bytes)
}

/// Bytes reserved by promises.
#[inline]
pub fn promised() -> usize {
    PROMISED.load(Ordering::Relaxed)
}

/// Reserves so many bytes for this thread.
pub fn promise(bytes: usize) {
    PROMISED.fetch_add(bytes, Ordering::Relaxed);
    let _ = THREAD.try_with(|t| t.promised.set(t.promised.get().saturating_add(bytes)));
}

/// Releases what `promise` reserved.
pub fn end_promise(bytes: usize) {
    PROMISED.fetch_sub(bytes, Ordering::Relaxed);
    let _ = THREAD.try_with(|t| t.promised.set(t.promised.get().saturating_sub(bytes)));
}

/// Counts bytes allocated (or freed, if negative) on this thread.
#[inline]
pub fn add(bytes: isize) {
    // Fails only when the thread exits.
    let _ = THREAD.try_with(|t| {
        let net = t.net.get().wrapping_add(bytes);
        t.net.set(net);
        if net.wrapping_sub(t.flushed.get()).unsigned_abs() >= DRIFT as usize {
            flush(t);
        }
    });
}

#[cold]
fn flush(t: &Thread) {
    LIVE.fetch_add(t.net.get().wrapping_sub(t.flushed.get()), Ordering::Relaxed);
    t.flushed.set(t.net.get());
}

/// Adds this thread's remaining count to the sum.
pub fn flush_thread() {
    let _ = THREAD.try_with(flush);
}

/// Counts memory of buffers, in programs whose allocator does not.
pub fn note_buffer(bytes: isize) {
    if !ALLOCATOR_COUNTS.load(Ordering::Relaxed) {
        add(bytes);
    }
}

/// Memory of a large block for a peer's payload: pages are committed, and counted, only when written.
#[derive(Debug, Default)]
pub struct Untouched {
    rest: usize,
    touched: usize,
}

impl Untouched {
    /// For a new block of this size.
    pub fn new(bytes: usize) -> Untouched {
        // Smaller blocks are not separate mappings.
        let bytes = if bytes >= MAPPED { bytes } else { 0 };
        add(-(bytes as isize));
        Untouched { rest: bytes, touched: 0 }
    }

    /// Counts bytes that were written. An error if the process has no room for what the block holds by now: it was allocated without a
    /// check, and others may have filled the memory since.
    pub fn touch(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes.min(self.rest);
        self.rest -= bytes;
        self.touched += bytes;
        add(bytes as isize);
        if bytes == 0 { Ok(()) } else { super::holder::check_counted(self.touched) }
    }
}

impl Drop for Untouched {
    fn drop(&mut self) {
        add(self.rest as isize);
    }
}

const MAPPED: usize = 1 << 20;

pub fn detect_counting_allocator() {
    let meter = Meter::start();
    let probe = std::hint::black_box(Vec::<u8>::with_capacity(1024));
    ALLOCATOR_COUNTS.store(meter.grown() >= 1024, Ordering::Relaxed);
    drop(probe);
}

/// Bytes that this thread has allocated, less freed, since the meter was started.
pub struct Meter(isize);

impl Meter {
    pub fn start() -> Meter {
        Meter(net())
    }

    /// 0 if the allocator does not count.
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
            flush_thread();
        });
        there.join().unwrap();
        flush_thread();
        // Other tests of this process make buffers meanwhile.
        assert!((LIVE.load(Ordering::Relaxed) - before).abs() < 9 << 20);
    }

    #[test]
    fn what_is_announced_counts_when_it_is_written() {
        let meter = Meter::start();
        // As the allocator does.
        add(100 << 20);
        let mut untouched = Untouched::new(100 << 20);
        assert_eq!(meter.grown(), 0);
        untouched.touch(30 << 20).unwrap();
        assert_eq!(meter.grown(), 30 << 20);
        untouched.touch(usize::MAX).unwrap();
        assert_eq!(meter.grown(), 100 << 20);
        drop(untouched);
        drop(Untouched::new(100 << 20));
        drop(Untouched::new(10));
        assert_eq!(meter.grown(), 100 << 20);
        add(-(100 << 20));
        flush_thread();
    }

    #[test]
    fn small_and_large_totals_leave_headroom() {
        let small = Limits::within(300 << 20);
        assert_eq!((small.limit, small.ceiling), (236 << 20, 284 << 20));
        assert_eq!((small.ceiling_for(TABLE), small.ceiling_for(TABLE - 1)), (268 << 20, 292 << 20));
        let large = Limits::within(100 << 30);
        assert_eq!(large.limit, 90 << 30);
        assert_eq!(Limits::within(0), Limits { limit: 0, ceiling: 0 });
    }
}
