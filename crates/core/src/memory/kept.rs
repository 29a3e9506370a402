//! Freed large blocks, kept for the next request of about the same size. malloc returns them to the system at once, and clearing the
//! pages of a new one takes longer than most loops over it. Tensors have a cache of their own (`buffer`); this one is for all else: lists
//! of keys, indices and places that ops make in each step.
//!
//! No locks: this is part of the allocator. A kept block has its size in its first bytes, and who takes its address out of a slot owns it.

use super::count;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Sizes that are kept: from malloc's threshold for blocks that are mapped separately (`trim`) to half of what is kept in all.
const SMALLEST: usize = 1 << 20;
const LARGEST: usize = 64 << 20;
const ALL: usize = 128 << 20;
/// At most this part of the memory limit.
const PART: usize = 32;

const SLOTS: usize = 16;
static KEPT: [Slot; SLOTS] =
    [const { Slot { block: AtomicPtr::new(null_mut()), size: AtomicUsize::new(0) } }; SLOTS];
static BYTES: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

struct Slot {
    block: AtomicPtr<u8>,
    /// A hint: the size that the block had when it was put there.
    size: AtomicUsize,
}

/// The layout with which a request is passed on to the system: sizes that may be kept are rounded up, so that blocks fit later requests.
#[inline]
pub(super) fn rounded(layout: Layout) -> Layout {
    if !is_kept(layout) {
        return layout;
    }
    Layout::from_size_align(crate::buffer::size_class(layout.size()), layout.align()).unwrap_or(layout)
}

#[inline]
fn is_kept(layout: Layout) -> bool {
    (SMALLEST..=LARGEST).contains(&layout.size()) && layout.align() <= 16
}

/// A kept block for this rounded layout, or null. Its bytes are arbitrary.
#[inline]
pub(super) fn take(layout: Layout) -> *mut u8 {
    if is_kept(layout) { find(layout.size()) } else { null_mut() }
}

#[cold]
fn find(size: usize) -> *mut u8 {
    for slot in &KEPT {
        if slot.size.load(Ordering::Relaxed) != size {
            continue;
        }
        let block = slot.block.swap(null_mut(), Ordering::AcqRel);
        if block.is_null() {
            continue;
        }
        // SAFETY: taken out of the slot, so it is ours; `keep` wrote its size there.
        let found = unsafe { block.cast::<usize>().read() };
        BYTES.fetch_sub(found, Ordering::Relaxed);
        if found == size {
            return block;
        }
        // Another thread changed the slot since the hint was read.
        free(block, found);
    }
    null_mut()
}

/// Whether the block, which is not used any more and has this rounded layout, was kept.
///
/// # Safety
/// It was allocated by the system's allocator with this layout, and nobody refers to it.
#[inline]
pub(super) unsafe fn keep(block: *mut u8, layout: Layout) -> bool {
    // SAFETY: by the caller's contract.
    is_kept(layout) && unsafe { put(block, layout.size()) }
}

/// # Safety
/// As of [`keep`].
#[cold]
unsafe fn put(block: *mut u8, size: usize) -> bool {
    let limit = ALL.min(count::limits().limit / PART);
    let mut evicted = 0;
    while BYTES.fetch_add(size, Ordering::Relaxed).saturating_add(size) > limit {
        BYTES.fetch_sub(size, Ordering::Relaxed);
        evicted += 1;
        if evicted > SLOTS {
            return false;
        }
        evict();
    }
    // SAFETY: the block is larger than a number, and aligned as malloc's are.
    unsafe { block.cast::<usize>().write(size) };
    for slot in &KEPT {
        if slot.block.load(Ordering::Relaxed).is_null() && place(slot, block, size) {
            return true;
        }
    }
    evict();
    for slot in &KEPT {
        if place(slot, block, size) {
            return true;
        }
    }
    BYTES.fetch_sub(size, Ordering::Relaxed);
    false
}

fn place(slot: &Slot, block: *mut u8, size: usize) -> bool {
    let placed = slot.block.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    if placed {
        slot.size.store(size, Ordering::Relaxed);
    }
    placed
}

/// Frees the block of one slot, each in its turn.
fn evict() {
    empty(&KEPT[NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS]);
}

fn empty(slot: &Slot) {
    let block = slot.block.swap(null_mut(), Ordering::AcqRel);
    if !block.is_null() {
        // SAFETY: as in `find`.
        let size = unsafe { block.cast::<usize>().read() };
        BYTES.fetch_sub(size, Ordering::Relaxed);
        free(block, size);
    }
}

fn free(block: *mut u8, size: usize) {
    if let Ok(layout) = Layout::from_size_align(size, 16) {
        // SAFETY: a kept block is the system's, of this size, and was taken out of its slot by the caller.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Frees all of them.
pub(crate) fn release() {
    KEPT.iter().for_each(empty);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_block_serves_the_next_request_of_its_size_only() {
        let layout = rounded(Layout::from_size_align((5 << 20) + 1, 8).unwrap());
        assert!(layout.size() > 5 << 20 && layout.size() <= 6 << 20);
        // SAFETY: the layouts are not empty; blocks are kept or freed once.
        unsafe {
            let block = System.alloc(layout);
            assert!(keep(block, layout));
            assert!(take(rounded(Layout::from_size_align(7 << 20, 8).unwrap())).is_null());
            let again = take(layout);
            assert_eq!(again, block);
            assert!(take(layout).is_null());
            System.dealloc(again, layout);
        }
    }

    #[test]
    fn small_and_enormous_blocks_go_to_the_system() {
        for size in [1000, LARGEST + 1, isize::MAX as usize - 64] {
            let layout = Layout::from_size_align(size, 16).unwrap();
            assert_eq!(rounded(layout), layout);
            assert!(take(layout).is_null());
        }
    }
}
