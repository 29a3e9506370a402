//! Floating-point numbers from random words.

use half::{bf16, f16};

/// Uniform numbers are clamped to this before the logarithm.
const SMALLEST: f64 = 1.0e-7;

/// A floating-point type to be sampled.
pub trait Real: Copy + Default + Send + Sync {
    /// The type in which normals are computed before they are rounded.
    type Wide: Copy + Default + Into<f64>;

    /// Random words consumed by one number.
    const WORDS: usize;

    /// Uniform in [0, 1), from `WORDS` words.
    fn uniform(words: &[u32]) -> Self;

    /// Standard normals, each from `WORDS` words, but in pairs: their number is even.
    fn normals(words: &[u32], out: &mut [Self::Wide]);

    fn round(wide: Self::Wide) -> Self;
}

impl Real for f16 {
    type Wide = f32;
    const WORDS: usize = 1;

    #[inline(always)]
    fn uniform(words: &[u32]) -> Self {
        // Ten fraction bits of a number in [1, 2): exact in f32.
        f16::from_f32(unit_f32(words[0] << 13))
    }

    fn normals(words: &[u32], out: &mut [f32]) {
        super::normal::fill(words, out);
    }

    #[inline(always)]
    fn round(wide: f32) -> Self {
        f16::from_f32(wide)
    }
}

impl Real for bf16 {
    type Wide = f32;
    const WORDS: usize = 1;

    #[inline(always)]
    fn uniform(words: &[u32]) -> Self {
        bf16::from_f32(unit_f32(words[0] << 16))
    }

    fn normals(words: &[u32], out: &mut [f32]) {
        super::normal::fill(words, out);
    }

    #[inline(always)]
    fn round(wide: f32) -> Self {
        bf16::from_f32(wide)
    }
}

impl Real for f32 {
    type Wide = f32;
    const WORDS: usize = 1;

    #[inline(always)]
    fn uniform(words: &[u32]) -> Self {
        unit_f32(words[0])
    }

    fn normals(words: &[u32], out: &mut [f32]) {
        super::normal::fill(words, out);
    }

    #[inline(always)]
    fn round(wide: f32) -> Self {
        wide
    }
}

impl Real for f64 {
    type Wide = f64;
    const WORDS: usize = 2;

    #[inline(always)]
    fn uniform(words: &[u32]) -> Self {
        unit_f64(words[0], words[1])
    }

    /// Box-Muller. The last bits depend on the platform's `log`, `sin` and `cos`.
    fn normals(words: &[u32], out: &mut [f64]) {
        let words = words.as_chunks::<4>().0;
        for (pair, &[a, b, c, d]) in out.as_chunks_mut::<2>().0.iter_mut().zip(words) {
            let radius = (-2.0 * unit_f64(a, b).max(SMALLEST).ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * unit_f64(c, d)).sin_cos();
            *pair = [sin * radius, cos * radius];
        }
    }

    #[inline(always)]
    fn round(wide: f64) -> Self {
        wide
    }
}

/// The low 23 bits, as the fraction of a number in [1, 2), less one.
#[inline(always)]
pub(super) fn unit_f32(word: u32) -> f32 {
    f32::from_bits(127 << 23 | (word & 0x7f_ffff)) - 1.0
}

/// The low 20 bits of `high` and all of `low`, used in the same way.
#[inline(always)]
pub(super) fn unit_f64(high: u32, low: u32) -> f64 {
    let fraction = u64::from(high & 0xf_ffff) << 32 | u64::from(low);
    f64::from_bits(1023 << 52 | fraction) - 1.0
}
