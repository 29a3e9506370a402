//! `Counting`: the system's allocator, with a count of live bytes, a ceiling below the OOM killer's limit, and a reserve.

use super::{count, kept};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Requests from this size on fail if they would pass the ceiling. Smaller ones do not: few callers handle their failure.
const LARGE: usize = 64 << 10;

/// An unused block, freed when the system is out of memory, so that running steps fail with an error.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static RESERVE_USED: AtomicBool = AtomicBool::new(false);
const RESERVE_LAYOUT: Layout = match Layout::from_size_align(8 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a constant"),
};

/// An allocator for programs: `#[global_allocator] static ALLOCATOR: Counting = Counting;`.
pub struct Counting;

// SAFETY: all memory is System's, allocated and freed with the caller's own layouts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let real = kept::rounded(layout);
        counted(layout.size(), || {
            let kept = kept::take(real);
            // SAFETY: by the caller's contract.
            if kept.is_null() { unsafe { System.alloc(real) } } else { kept }
        })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's contract.
        counted(layout.size(), || unsafe { System.alloc_zeroed(kept::rounded(layout)) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let real = kept::rounded(layout);
        // SAFETY: by the caller's contract, and all blocks are allocated with their rounded layout.
        unsafe {
            if !kept::keep(block, real) {
                System.dealloc(block, real);
            }
        }
        count::add(-(layout.size() as isize));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let real = kept::rounded(layout);
        let new = Layout::from_size_align(size, layout.align()).map_or(size, |l| kept::rounded(l).size());
        if size <= layout.size() {
            // SAFETY: by the caller's contract.
            let smaller = unsafe { System.realloc(block, real, new) };
            if !smaller.is_null() {
                count::add(size as isize - layout.size() as isize);
            }
            return smaller;
        }
        // SAFETY: by the caller's contract; a failed attempt leaves the block as it was.
        counted(size - layout.size(), || unsafe { System.realloc(block, real, new) })
    }
}

/// Sizes are at most `isize::MAX`, as in a `Layout`.
#[inline]
fn counted(more: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    // Counted first: of two threads that were to check first, both would pass where there is room for one.
    count::add(more as isize);
    let fits = more < LARGE || count::fits(more) || fits_without_kept(more);
    let mut block = if fits { allocate() } else { null_mut() };
    if block.is_null() && fits {
        block = with_reserve(allocate);
    }
    if block.is_null() {
        count::add(-(more as isize));
    }
    block
}

#[cold]
fn fits_without_kept(more: usize) -> bool {
    crate::buffer::release_cached();
    count::fits(more)
}

#[cold]
fn with_reserve(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    crate::buffer::release_cached();
    let reserve = RESERVE.swap(null_mut(), Ordering::AcqRel);
    if !reserve.is_null() {
        RESERVE_USED.store(true, Ordering::Relaxed);
        // SAFETY: made by `arm_reserve` with this layout, and taken by us alone.
        unsafe { System.dealloc(reserve, RESERVE_LAYOUT) };
    }
    allocate()
}

/// Allocates the reserve, if there is none.
pub fn arm_reserve() {
    if !RESERVE.load(Ordering::Relaxed).is_null() {
        return;
    }
    // SAFETY: the layout is not empty.
    let block = unsafe { System.alloc(RESERVE_LAYOUT) };
    if block.is_null() {
        return;
    }
    let before = RESERVE.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Relaxed);
    match before {
        Ok(_) => RESERVE_USED.store(false, Ordering::Relaxed),
        // SAFETY: another thread was first; nobody has seen this block.
        Err(_) => unsafe { System.dealloc(block, RESERVE_LAYOUT) },
    }
}

/// Whether the system ran out of memory, and the reserve is not rearmed yet.
#[inline]
pub fn is_tight() -> bool {
    RESERVE_USED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Meter;

    #[test]
    fn what_is_given_and_given_back_is_counted() {
        let layout = Layout::from_size_align(10_000, 16).unwrap();
        let meter = Meter::start();
        // SAFETY: the layouts are not empty, and each block is given back with the layout it has.
        unsafe {
            let block = Counting.alloc(layout);
            assert_eq!(meter.grown(), 10_000);
            let block = Counting.realloc(block, layout, 30_000);
            assert_eq!(meter.grown(), 30_000);
            let layout = Layout::from_size_align(30_000, 16).unwrap();
            let block = Counting.realloc(block, layout, 500);
            assert_eq!(meter.grown(), 500);
            Counting.dealloc(block, Layout::from_size_align(500, 16).unwrap());
        }
        assert_eq!(meter.grown(), 0);
    }

    #[test]
    fn when_the_system_has_no_more_the_reserve_is_used_once_and_comes_back() {
        arm_reserve();
        let layout = Layout::from_size_align(64, 16).unwrap();
        let calls = std::cell::Cell::new(0);
        let second = || match calls.replace(calls.get() + 1) {
            0 => null_mut(),
            // SAFETY: the layout is not empty.
            _ => unsafe { System.alloc(layout) },
        };
        let block = counted(64, second);
        assert!(!block.is_null() && is_tight());
        // SAFETY: made above with this layout.
        unsafe { Counting.dealloc(block, layout) };
        arm_reserve();
        assert!(!is_tight());
    }
}
