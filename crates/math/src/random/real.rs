//! Floating-point numbers from random words.

use half::{bf16, f16};

/// Below this, a uniform number is not passed to the logarithm.
const SMALLEST: f64 = 1.0e-7;

/// A floating-point type that can be drawn.
pub trait Real: Copy + Default + Send + Sync {
    /// The type in which normals are computed before they are rounded.
    type Wide: Copy + Into<f64>;

    /// Random words that make one number.
    const WORDS: usize;

    /// Uniform in [0, 1), from `WORDS` words.
    fn uniform(words: &[u32]) -> Self;

    /// Two standard normals, from twice `WORDS` words.
    fn normals(words: &[u32]) -> [Self::Wide; 2];

    fn round(wide: Self::Wide) -> Self;
}

impl Real for f16 {
    type Wide = f32;
    const WORDS: usize = 1;

    #[inline(always)]
    fn uniform(words: &[u32]) -> Self {
        // Ten bits behind the point of a number in [1, 2): exact in f32.
        f16::from_f32(unit_f32(words[0] << 13))
    }

    #[inline(always)]
    fn normals(words: &[u32]) -> [f32; 2] {
        f32::normals(words)
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

    #[inline(always)]
    fn normals(words: &[u32]) -> [f32; 2] {
        f32::normals(words)
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

    /// Box and Muller. The bits depend on the platform's `logf` and `sincosf`.
    #[inline(always)]
    fn normals(words: &[u32]) -> [f32; 2] {
        let u = unit_f32(words[0]).max(SMALLEST as f32);
        // The angle is rounded once, from a product in f64.
        let angle = (std::f64::consts::TAU * f64::from(unit_f32(words[1]))) as f32;
        let radius = (-2.0 * u.ln()).sqrt();
        let (sin, cos) = angle.sin_cos();
        [sin * radius, cos * radius]
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

    #[inline(always)]
    fn normals(words: &[u32]) -> [f64; 2] {
        let u = unit_f64(words[0], words[1]).max(SMALLEST);
        let angle = std::f64::consts::TAU * unit_f64(words[2], words[3]);
        let radius = (-2.0 * u.ln()).sqrt();
        let (sin, cos) = angle.sin_cos();
        [sin * radius, cos * radius]
    }

    #[inline(always)]
    fn round(wide: f64) -> Self {
        wide
    }
}

/// The low 23 bits, as the fraction of a number in [1, 2), less one.
#[inline(always)]
fn unit_f32(word: u32) -> f32 {
    f32::from_bits(127 << 23 | (word & 0x7f_ffff)) - 1.0
}

/// The low 20 bits of `high` and all of `low`, used in the same way.
#[inline(always)]
pub(super) fn unit_f64(high: u32, low: u32) -> f64 {
    let fraction = u64::from(high & 0xf_ffff) << 32 | u64::from(low);
    f64::from_bits(1023 << 52 | fraction) - 1.0
}
