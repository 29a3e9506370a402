//! An allocator that fails on demand.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};

/// Allocations from this size on are counted and can fail. Bookkeeping (names, nodes, ports, errors) is
/// smaller, and its failure aborts the process in Rust; buffers for large inputs are larger.
pub const BOOKS: usize = 4 << 10;

/// As `BOOKS`, for file readers: their buffers and decoder windows have a fixed, smaller size.
pub const READERS: usize = 128 << 10;

pub struct Failing;

static ARMED: AtomicBool = AtomicBool::new(false);
static THRESHOLD: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static FAILS: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Injected failures.
static FAILURES: AtomicUsize = AtomicUsize::new(0);
/// The budget in bytes, and how many are allocated.
static BUDGET: AtomicIsize = AtomicIsize::new(isize::MAX);
static HELD: AtomicIsize = AtomicIsize::new(0);

/// Runs `body` while the `n`-th allocation of at least `threshold` fails, from 1. Whether there were so many.
pub fn fail_nth<R>(n: usize, threshold: usize, body: impl FnOnce() -> R) -> (R, bool) {
    THRESHOLD.store(threshold, SeqCst);
    SEEN.store(0, SeqCst);
    FAILS.store(n, SeqCst);
    ARMED.store(true, SeqCst);
    let result = body();
    ARMED.store(false, SeqCst);
    (result, SEEN.load(SeqCst) >= n)
}

/// Runs `body` with a budget of bytes; allocations below the threshold never fail.
pub fn within<R>(budget: usize, threshold: usize, body: impl FnOnce() -> R) -> R {
    THRESHOLD.store(threshold, SeqCst);
    FAILS.store(usize::MAX, SeqCst);
    HELD.store(0, SeqCst);
    BUDGET.store(budget as isize, SeqCst);
    ARMED.store(true, SeqCst);
    let result = body();
    ARMED.store(false, SeqCst);
    BUDGET.store(isize::MAX, SeqCst);
    result
}

pub fn failures() -> usize {
    FAILURES.load(SeqCst)
}

/// Whether a block of `size` bytes fails, `more` of which are new.
fn fails(size: usize, more: usize) -> bool {
    if !ARMED.load(SeqCst) {
        return false;
    }
    let held = HELD.fetch_add(more as isize, SeqCst) + more as isize;
    if size < THRESHOLD.load(SeqCst) {
        return false;
    }
    let is_nth = SEEN.fetch_add(1, SeqCst) + 1 == FAILS.load(SeqCst);
    let is_over = held > BUDGET.load(SeqCst);
    if is_nth || is_over {
        HELD.fetch_sub(more as isize, SeqCst);
        FAILURES.fetch_add(1, SeqCst);
    }
    is_nth || is_over
}

fn freed(bytes: usize) {
    if ARMED.load(SeqCst) {
        HELD.fetch_sub(bytes as isize, SeqCst);
    }
}

// SAFETY: calls that do not fail are forwarded to the system allocator; failing is allowed, and nothing here allocates.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size(), layout.size()) {
            return null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size(), layout.size()) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && fails(size, size - layout.size()) {
            return null_mut();
        }
        freed(layout.size().saturating_sub(size));
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Fills the caches of freed buffers with blocks of unused sizes: from here on each buffer is allocated.
pub fn fill_caches() {
    use thalweg_core::buffer::Buffer;
    let shared = Buffer::new(128 << 20);
    let own: Vec<_> = (0..146).map(|_| Buffer::new(56 << 10)).chain([Buffer::new(14 << 10)]).collect();
    drop((shared, own));
}
