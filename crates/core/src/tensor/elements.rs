//! Bytes seen as elements and back: the one place that reinterprets tensor memory.

use crate::dtype::Element;

/// Bytes of a tensor as its elements. Misaligned or ragged bytes cannot come from a tensor; they give an empty slice.
pub(super) fn typed<T: Element>(bytes: &[u8]) -> &[T] {
    let size = std::mem::size_of::<T>();
    debug_assert!(bytes.len().is_multiple_of(size) && bytes.as_ptr().cast::<T>().is_aligned());
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return &[];
    }
    // SAFETY: aligned, in bounds, and `Element` promises validity for what a tensor of its type holds.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<T>(), bytes.len() / size) }
}

pub(super) fn typed_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    let size = std::mem::size_of::<T>();
    debug_assert!(bytes.len().is_multiple_of(size) && bytes.as_ptr().cast::<T>().is_aligned());
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return &mut [];
    }
    // SAFETY: as in `typed`, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), bytes.len() / size) }
}

/// Elements as bytes.
pub(super) fn untyped<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) }
}
