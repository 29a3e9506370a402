//! Software prefetch, for gathers from large tables: without it each row of a random index costs a full cache miss.

/// The prefetch distance, in rows: enough misses in flight, few enough not to be evicted before use.
pub const AHEAD: usize = 8;

/// The most cache lines of a row to prefetch. The rest of a longer row is left to the hardware prefetcher.
const LINES: usize = 8;

const LINE_BYTES: usize = 64;

/// Prefetches the cache line at an address, which need not be valid.
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

/// Prefetches the row of `width` elements at `start`, or the beginning of a long one.
#[inline]
pub fn row<T>(data: &[T], start: usize, width: usize) {
    let each = (LINE_BYTES / size_of::<T>().max(1)).max(1);
    (0..width)
        .step_by(each)
        .take(LINES)
        .for_each(|i| line(data.as_ptr().wrapping_add(start.wrapping_add(i))));
}
