//! Memory for packed blocks, kept by each thread between products.

use crate::scratch;
use std::cell::Cell;

/// A cache line, so that packed vectors do not straddle two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static KEPT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// The most a thread keeps: what a product of any size packs at once, with room to spare.
const KEEP_BYTES: usize = 8 << 20;

/// Calls `body` with room for `len` elements, aligned to cache lines, of any initial content.
pub(super) fn with<T: Copy + 'static, R>(len: usize, body: impl FnOnce(*mut T) -> R) -> R {
    const { assert!(align_of::<T>() <= 64) };
    let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
    // Taken, not borrowed: a product inside `body` gets memory of its own.
    let mut memory = KEPT.take();
    if memory.len() < lines {
        memory = scratch::filled(lines, Line([0; 64]));
    }
    let result = body(memory.as_mut_ptr().cast());
    if memory.len() * size_of::<Line>() <= KEEP_BYTES {
        KEPT.set(memory);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_kept_and_not_shared() {
        let first = with(100, |p: *mut f32| {
            assert_eq!(p as usize % 64, 0);
            with(100, |q: *mut f32| assert_ne!(p, q));
            p as usize
        });
        let _ = with(10, |p: *mut f32| p as usize);
        assert_ne!(first, 0);
    }
}
