//! An allocator that fails when it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Allocations from this size on are counted and can fail. What programs keep books with (names, nodes, ports, errors) is
/// smaller and cannot fail in Rust without ending the process; what input sizes is larger once the input is.
pub const BOOKS: usize = 4 << 10;

/// As `BOOKS`, for readers of files: their buffers, and the windows of decoders, are of one size, and smaller.
pub const READERS: usize = 128 << 10;

pub struct Failing;

static ARMED: AtomicBool = AtomicBool::new(false);
static THRESHOLD: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static FAILS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs `body` while the `n`-th allocation of that size or more fails, counted from 1. Whether there were so many.
pub fn fail_nth<R>(n: usize, threshold: usize, body: impl FnOnce() -> R) -> (R, bool) {
    THRESHOLD.store(threshold, SeqCst);
    SEEN.store(0, SeqCst);
    FAILS.store(n, SeqCst);
    ARMED.store(true, SeqCst);
    let result = body();
    ARMED.store(false, SeqCst);
    (result, SEEN.load(SeqCst) >= n)
}

fn fails(size: usize) -> bool {
    let counts = ARMED.load(SeqCst) && size >= THRESHOLD.load(SeqCst);
    counts && SEEN.fetch_add(1, SeqCst) + 1 == FAILS.load(SeqCst)
}

// SAFETY: what is not refused is done by the system's allocator; refusing is allowed, and nothing here allocates.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && fails(size) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Fills the caches of freed buffers with blocks of sizes that nothing asks for: from here on each buffer is an allocation.
pub fn fill_caches() {
    use thalweg_core::buffer::Buffer;
    let shared = Buffer::new(128 << 20);
    let own: Vec<_> = (0..146).map(|_| Buffer::new(56 << 10)).chain([Buffer::new(14 << 10)]).collect();
    drop((shared, own));
}
