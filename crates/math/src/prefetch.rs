//! Asking for memory before it is needed: rows of a large table at random places come one after another otherwise, each as late as
//! the slowest cache.

/// Rows asked for before they are used: enough to be on their way at once, few enough to be there still.
pub const AHEAD: usize = 8;

/// The most lines of a row to ask for. A longer row is read in order, which the machine foresees by itself.
const LINES: usize = 8;

const LINE_BYTES: usize = 64;

/// Asks for the cache line at an address, which need not be valid.
#[inline(always)]
pub fn line<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: part of every x86-64 CPU, and allowed at any address.
    unsafe {
        use std::arch::x86_64::*;
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for the row of `width` elements from `start` on, or its beginning if it is long.
#[inline]
pub fn row<T>(data: &[T], start: usize, width: usize) {
    let each = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    (0..width)
        .step_by(each)
        .take(LINES)
        .for_each(|i| line(data.as_ptr().wrapping_add(start.wrapping_add(i))));
}
