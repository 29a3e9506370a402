//! The packing buffer, cached by each thread between products.

use crate::scratch;
use std::cell::Cell;

/// Alignment to cache lines, so that packed vectors do not straddle two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

thread_local! {
    static CACHED: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// The most a thread caches: more than a product of any size packs at once.
const MAX_CACHED_BYTES: usize = 8 << 20;

/// Calls `body` with an uninitialised buffer of `len` elements, aligned to cache lines.
pub(super) fn with<T: Copy + 'static, R>(len: usize, body: impl FnOnce(*mut T) -> R) -> R {
    const { assert!(align_of::<T>() <= 64) };
    let lines = (len * size_of::<T>()).div_ceil(size_of::<CacheLine>());
    // Taken, not borrowed: a nested product in `body` gets its own buffer.
    let mut memory = CACHED.take();
    if memory.len() < lines {
        memory = scratch::filled(lines, CacheLine([0; 64]));
    }
    let result = body(memory.as_mut_ptr().cast());
    if memory.len() * size_of::<CacheLine>() <= MAX_CACHED_BYTES {
        CACHED.set(memory);
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
