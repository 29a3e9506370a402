//! SIMD vectors of floating-point numbers, for each instruction set.
//!
//! The micro-kernels are generic over [`Lanes`]; a function that enables the instruction
//! set inlines them. Nothing here may be called on a CPU that lacks the instructions.

// Each method is one instruction; the safety contract is the trait's.
#![allow(clippy::undocumented_unsafe_blocks)]

/// A vector of `LEN` lanes.
///
/// # Safety
///
/// All methods need the CPU to have the instruction set of the implementing type, and
/// their pointers to be valid for the elements they name. `n` is 1 to `LEN`.
pub(super) unsafe trait Lanes: Copy {
    type Elem: Copy;
    /// A mask of the first `n` lanes.
    type Mask: Copy;
    const LEN: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(from: *const Self::Elem) -> Self;
    unsafe fn load(from: *const Self::Elem) -> Self;
    unsafe fn store(self, to: *mut Self::Elem);
    unsafe fn mask(n: usize) -> Self::Mask;
    /// A masked load: lanes outside the mask are zero, and not read from memory.
    unsafe fn load_masked(from: *const Self::Elem, mask: Self::Mask) -> Self;
    /// A masked store.
    unsafe fn store_masked(self, to: *mut Self::Elem, mask: Self::Mask);
    /// `self + x * y`.
    unsafe fn fma(self, x: Self, y: Self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// `max(x, 0)` in each lane; NaN stays NaN.
    unsafe fn relu(self) -> Self;

    /// The sum of all lanes, in a fixed order.
    #[inline(always)]
    unsafe fn horizontal_sum(self) -> Self::Elem
    where
        Self::Elem: std::ops::AddAssign,
    {
        // SAFETY: a vector is `LEN` elements, and neither access needs alignment.
        unsafe {
            let from = (&raw const self).cast::<Self::Elem>();
            let mut horizontal_sum = *from;
            for i in 1..Self::LEN {
                horizontal_sum += *from.add(i);
            }
            horizontal_sum
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    macro_rules! avx512 {
        ($vector:ty, $elem:ty, $mask:ty, $len:expr, $zero:ident, $set1:ident, $load:ident, $store:ident,
         $mload:ident, $mstore:ident, $fma:ident, $add:ident, $max:ident) => {
            // SAFETY: each method is the AVX-512F instruction of that meaning; masked loads
            // and stores do not touch memory outside the mask.
            unsafe impl Lanes for $vector {
                type Elem = $elem;
                type Mask = $mask;
                const LEN: usize = $len;

                #[inline(always)]
                unsafe fn zero() -> Self {
                    unsafe { $zero() }
                }
                #[inline(always)]
                unsafe fn splat(from: *const $elem) -> Self {
                    unsafe { $set1(*from) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $elem) -> Self {
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $elem) {
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn mask(n: usize) -> $mask {
                    <$mask>::MAX >> (<$mask>::BITS as usize - n)
                }
                #[inline(always)]
                unsafe fn load_masked(from: *const $elem, mask: $mask) -> Self {
                    unsafe { $mload(mask, from) }
                }
                #[inline(always)]
                unsafe fn store_masked(self, to: *mut $elem, mask: $mask) {
                    unsafe { $mstore(to, mask, self) }
                }
                #[inline(always)]
                unsafe fn fma(self, x: Self, y: Self) -> Self {
                    unsafe { $fma(x, y, self) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn relu(self) -> Self {
                    // With a NaN the instruction returns its second operand.
                    unsafe { $max($zero(), self) }
                }
            }
        };
    }

    avx512!(
        __m512,
        f32,
        u16,
        16,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_max_ps
    );
    avx512!(
        __m512d,
        f64,
        u8,
        8,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_maskz_loadu_pd,
        _mm512_mask_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_max_pd
    );

    macro_rules! avx2 {
        ($vector:ty, $elem:ty, $int:ty, $len:expr, $zero:ident, $set1:ident, $load:ident, $store:ident,
         $mload:ident, $mstore:ident, $fma:ident, $add:ident, $max:ident) => {
            // SAFETY: each method is the AVX or FMA instruction of that meaning; masked loads
            // and stores do not touch memory outside the mask.
            unsafe impl Lanes for $vector {
                type Elem = $elem;
                type Mask = __m256i;
                const LEN: usize = $len;

                #[inline(always)]
                unsafe fn zero() -> Self {
                    unsafe { $zero() }
                }
                #[inline(always)]
                unsafe fn splat(from: *const $elem) -> Self {
                    unsafe { $set1(*from) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $elem) -> Self {
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $elem) {
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn mask(n: usize) -> __m256i {
                    const ONES_THEN_ZEROS: [$int; 2 * $len] = {
                        let mut table = [0; 2 * $len];
                        let mut i = 0;
                        while i < $len {
                            table[i] = -1;
                            i += 1;
                        }
                        table
                    };
                    // The $len elements that start with n ones.
                    unsafe { _mm256_loadu_si256(ONES_THEN_ZEROS.as_ptr().add($len - n).cast()) }
                }
                #[inline(always)]
                unsafe fn load_masked(from: *const $elem, mask: __m256i) -> Self {
                    unsafe { $mload(from, mask) }
                }
                #[inline(always)]
                unsafe fn store_masked(self, to: *mut $elem, mask: __m256i) {
                    unsafe { $mstore(to, mask, self) }
                }
                #[inline(always)]
                unsafe fn fma(self, x: Self, y: Self) -> Self {
                    unsafe { $fma(x, y, self) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn relu(self) -> Self {
                    // With a NaN the instruction returns its second operand.
                    unsafe { $max($zero(), self) }
                }
            }
        };
    }

    avx2!(
        __m256,
        f32,
        i32,
        8,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_maskload_ps,
        _mm256_maskstore_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_max_ps
    );
    avx2!(
        __m256d,
        f64,
        i64,
        4,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_maskload_pd,
        _mm256_maskstore_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_max_pd
    );
}

/// `N` lanes in portable Rust.
#[derive(Clone, Copy)]
pub(super) struct Portable<T, const N: usize>([T; N]);

macro_rules! portable {
    ($elem:ty, $len:expr) => {
        // SAFETY: plain Rust; masked accesses stop at the mask, which is a count.
        unsafe impl Lanes for Portable<$elem, $len> {
            type Elem = $elem;
            type Mask = usize;
            const LEN: usize = $len;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Portable([0.0; $len])
            }
            #[inline(always)]
            unsafe fn splat(from: *const $elem) -> Self {
                Portable([unsafe { *from }; $len])
            }
            #[inline(always)]
            unsafe fn load(from: *const $elem) -> Self {
                Portable(unsafe { from.cast::<[$elem; $len]>().read() })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $elem) {
                unsafe { to.cast::<[$elem; $len]>().write(self.0) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $elem, mask: usize) -> Self {
                Portable(std::array::from_fn(|i| if i < mask { unsafe { *from.add(i) } } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn store_masked(self, to: *mut $elem, mask: usize) {
                for i in 0..mask {
                    unsafe { *to.add(i) = self.0[i] }
                }
            }
            #[inline(always)]
            unsafe fn fma(self, x: Self, y: Self) -> Self {
                Portable(std::array::from_fn(|i| self.0[i] + x.0[i] * y.0[i]))
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Portable(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                Portable(std::array::from_fn(|i| if self.0[i] < 0.0 { 0.0 } else { self.0[i] }))
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);
