//! Bytes cast to elements and back: the one place that reinterprets tensor memory.

use crate::dtype::Element;

/// Casts bytes of a tensor to elements. Misaligned bytes cannot come from a tensor; they yield an empty slice.
#[inline]
pub(super) fn typed<T: Element>(bytes: &[u8]) -> &[T] {
    let size = std::mem::size_of::<T>();
    debug_assert!(bytes.len().is_multiple_of(size) && bytes.as_ptr().cast::<T>().is_aligned());
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return &[];
    }
    // SAFETY: aligned, in bounds, and `Element` promises validity for what a tensor of its type holds.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<T>(), bytes.len() / size) }
}

#[inline]
pub(super) fn typed_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    let size = std::mem::size_of::<T>();
    debug_assert!(bytes.len().is_multiple_of(size) && bytes.as_ptr().cast::<T>().is_aligned());
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return &mut [];
    }
    // SAFETY: as in `typed`, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), bytes.len() / size) }
}

/// The first element of a tensor that holds its elements inline.
#[inline]
pub(super) fn first<T: Element>(words: &[u64; 2]) -> T {
    const { assert!(std::mem::size_of::<T>() <= 16 && std::mem::align_of::<T>() <= 8) };
    // SAFETY: 16 initialised bytes aligned to 8, and `Element` promises validity for what a tensor of its type holds.
    unsafe { words.as_ptr().cast::<T>().read() }
}

/// Elements as bytes.
#[inline]
pub(super) fn untyped<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) }
}
