//! Copying blocks into the order the kernels read them.

/// Copies `k` rows by `cols` columns of B to rows of `width`, zeros after `cols`.
///
/// # Safety
///
/// `b` is readable at all `p * row_stride + j * col_stride`, `packed` writable for `k * width`.
pub(super) unsafe fn transpose<T: Copy>(
    k: usize,
    cols: usize,
    b: *const T,
    row_stride: usize,
    col_stride: usize,
    packed: *mut T,
    width: usize,
) {
    // SAFETY: as above.
    unsafe {
        for p in 0..k {
            for j in 0..cols {
                *packed.add(p * width + j) = *b.add(p * row_stride + j * col_stride);
            }
        }
        if cols < width {
            for p in 0..k {
                std::ptr::write_bytes(packed.add(p * width + cols), 0, width - cols);
            }
        }
    }
}
