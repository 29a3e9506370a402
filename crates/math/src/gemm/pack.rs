//! Packing: copies of panels in the order in which the micro-kernels read them.

/// Packs a panel of any strides, typically a portable one, into rows of `width` elements (a multiple of the
/// vector length), padded with zeros after `cols`.
///
/// Needs `b` readable at all `p * row_stride + j * col_stride` for `p` below `k` and `j`
/// below `cols`, and `packed` writable for `k * width`.
pub(super) type Pack<T> = unsafe fn(
    k: usize,
    cols: usize,
    b: *const T,
    row_stride: usize,
    col_stride: usize,
    packed: *mut T,
    width: usize,
);

/// [`Pack`], in portable Rust.
pub(super) unsafe fn portable<T: Copy + Default>(
    k: usize,
    cols: usize,
    b: *const T,
    row_stride: usize,
    col_stride: usize,
    packed: *mut T,
    width: usize,
) {
    // SAFETY: the extents are the caller's.
    unsafe {
        for p in 0..k {
            let (from, to) = (b.add(p * row_stride), packed.add(p * width));
            for j in 0..cols {
                *to.add(j) = *from.add(j * col_stride);
            }
            for j in cols..width {
                *to.add(j) = T::default();
            }
        }
    }
}

/// A cache block of A, packed or in place.
#[derive(Clone, Copy)]
pub(super) struct Block<T> {
    pub at: *const T,
    pub row_stride: usize,
    pub col_stride: usize,
    /// Elements from one micro-panel to the next, if the block is packed.
    pub micro_panel: Option<usize>,
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::*;

    /// [`Pack`](super::Pack) that transposes squares of 16 by 16 in registers.
    ///
    /// # Safety
    ///
    /// As for `Pack`, and the CPU has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn f32(
        k: usize,
        cols: usize,
        b: *const f32,
        row_stride: usize,
        col_stride: usize,
        packed: *mut f32,
        width: usize,
    ) {
        // SAFETY: squares are inside the panel; the edges are left to `portable`.
        unsafe {
            if row_stride != 1 {
                return super::portable(k, cols, b, row_stride, col_stride, packed, width);
            }
            let k_whole = k / 16 * 16;
            for j in (0..width).step_by(16) {
                let count = cols.saturating_sub(j).min(16);
                let (from, to) = (b.add(j * col_stride), packed.add(j));
                for p in (0..k_whole).step_by(16) {
                    transpose_16x16(count, from.add(p), col_stride, to.add(p * width), width);
                }
                for p in k_whole..k {
                    for j in 0..16 {
                        *to.add(p * width + j) = if j < count { *from.add(p + j * col_stride) } else { 0.0 };
                    }
                }
            }
        }
    }

    /// Transposes `count` by 16 to 16 by 16, padded with zeros.
    #[target_feature(enable = "avx512f")]
    unsafe fn transpose_16x16(
        count: usize,
        from: *const f32,
        from_stride: usize,
        to: *mut f32,
        to_stride: usize,
    ) {
        // SAFETY: `count` rows of 16 on one side and 16 on the other are the caller's.
        unsafe {
            // Interleave pairs of rows, then fours, within each 128-bit lane.
            let mut fours = [_mm512_setzero_ps(); 16];
            for g in 0..4 {
                let row = |i: usize| match 4 * g + i {
                    r if r < count => _mm512_loadu_ps(from.add(r * from_stride)),
                    _ => _mm512_setzero_ps(),
                };
                let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
                let (a, b) = (_mm512_unpacklo_ps(r0, r1), _mm512_unpackhi_ps(r0, r1));
                let (c, d) = (_mm512_unpacklo_ps(r2, r3), _mm512_unpackhi_ps(r2, r3));
                fours[g] = _mm512_shuffle_ps::<0x44>(a, c);
                fours[4 + g] = _mm512_shuffle_ps::<0xEE>(a, c);
                fours[8 + g] = _mm512_shuffle_ps::<0x44>(b, d);
                fours[12 + g] = _mm512_shuffle_ps::<0xEE>(b, d);
            }
            // fours[4 * i + g] holds columns i, i + 4, i + 8, i + 12 of rows 4g to 4g + 3.
            for i in 0..4 {
                let [a, b, c, d] = [fours[4 * i], fours[4 * i + 1], fours[4 * i + 2], fours[4 * i + 3]];
                let (ab_low, cd_low) =
                    (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(c, d));
                let (ab_high, cd_high) =
                    (_mm512_shuffle_f32x4::<0xDD>(a, b), _mm512_shuffle_f32x4::<0xDD>(c, d));
                let put = |col: usize, x| _mm512_storeu_ps(to.add(col * to_stride), x);
                put(i, _mm512_shuffle_f32x4::<0x88>(ab_low, cd_low));
                put(i + 8, _mm512_shuffle_f32x4::<0xDD>(ab_low, cd_low));
                put(i + 4, _mm512_shuffle_f32x4::<0x88>(ab_high, cd_high));
                put(i + 12, _mm512_shuffle_f32x4::<0xDD>(ab_high, cd_high));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use crate::isa::{self, Isa};

    fn check(pack: Pack<f32>) {
        for (k, cols, width) in [(1, 1, 16), (16, 16, 16), (37, 32, 32), (50, 19, 32), (64, 5, 16)] {
            for (row_stride, col_stride) in [(1, k + 3), (2, 2 * k + 1), (cols + 1, 1)] {
                let b: Vec<f32> = (0..k * row_stride + cols * col_stride).map(|i| i as f32).collect();
                let mut packed = vec![f32::NAN; k * width];
                // SAFETY: the vectors cover the extents.
                unsafe { pack(k, cols, b.as_ptr(), row_stride, col_stride, packed.as_mut_ptr(), width) };
                for (i, &x) in packed.iter().enumerate() {
                    let (p, j) = (i / width, i % width);
                    let expected = if j < cols { b[p * row_stride + j * col_stride] } else { 0.0 };
                    assert_eq!(
                        x, expected,
                        "{p} {j} of {k} {cols} {width}, strides {row_stride} {col_stride}"
                    );
                }
            }
        }
    }

    #[test]
    fn panels_are_transposed() {
        check(portable::<f32>);
        #[cfg(target_arch = "x86_64")]
        if isa::current() == Isa::Avx512 {
            check(avx512::f32);
        }
    }
}
