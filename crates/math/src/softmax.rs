//! Softmax and its logarithm, over the rows of a matrix.
//!
//! The largest element of a row is subtracted first, so that nothing overflows.

use std::ops::Range;

use crate::elementary::scalar;
use crate::parallel::Parallel;
use crate::reduce::{Number, Ordered};
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// A type in which softmax can be computed.
pub trait Float: Number + Ordered {
    fn sub(self, other: Self) -> Self;
    fn recip(self) -> Self;
    fn ln(self) -> Self;
    /// `#[inline(always)]`, for loops.
    fn exp<const FMA: bool>(self) -> Self;
}

/// The maximum and the log-sum-exp of a row.
#[derive(Clone, Copy)]
pub struct RowScale<A> {
    max: A,
    log_sum: A,
}

impl<A: Float> RowScale<A> {
    /// Initial value, to be overwritten by `softmax_with_scales`.
    pub const UNKNOWN: Self = RowScale { max: A::ZERO, log_sum: A::ZERO };

    /// The logarithm of the softmax of an element of the row.
    #[inline]
    pub fn log(&self, x: A) -> A {
        x.sub(self.max).sub(self.log_sum)
    }
}

/// exp(x) / sum(exp(x)) of each row of `width` elements.
pub fn softmax<T: Float>(parallel: &dyn Parallel, width: usize, x: &[T], out: &mut [T]) {
    rows::<T, false>(parallel, width, x, out, &mut []);
}

/// The same, with the scale of each row, which makes the logarithm of an element cheap.
pub fn softmax_with_scales<T: Float>(
    parallel: &dyn Parallel,
    width: usize,
    x: &[T],
    out: &mut [T],
    scales: &mut [RowScale<T>],
) {
    assert_eq!(scales.len() * width, x.len());
    rows::<T, false>(parallel, width, x, out, scales);
}

/// x - log(sum(exp(x))) of each row of `width` elements.
pub fn log_softmax<T: Float>(parallel: &dyn Parallel, width: usize, x: &[T], out: &mut [T]) {
    rows::<T, true>(parallel, width, x, out, &mut []);
}

/// Elements of a cache block, which stays in L1 from pass to pass.
const BLOCK: usize = 2048;

/// Lanes of the sum and max reductions.
const LANES: usize = 32;

/// `scales`: none, or one for each row.
fn rows<T: Float, const LOG: bool>(
    parallel: &dyn Parallel,
    width: usize,
    x: &[T],
    out: &mut [T],
    scales: &mut [RowScale<T>],
) {
    assert_eq!(x.len(), out.len());
    if x.is_empty() {
        return;
    }
    assert!(x.len().is_multiple_of(width));
    let with_scales = !scales.is_empty();
    let (shared, scales) = (SharedMut::new(out), SharedMut::new(scales));
    parallel.run_ranges(x.len() / width, (2 * BLOCK).div_ceil(width), &|rows: Range<usize>| {
        let range = rows.start * width..rows.end * width;
        let scaled = if with_scales { rows } else { 0..0 };
        // SAFETY: ranges of rows do not overlap.
        let (out, scales) = unsafe { (shared.range(range.clone()), scales.range(scaled)) };
        widest(Rows::<T, LOG> { width, x: &x[range], out, scales });
    });
}

struct Rows<'a, T, const LOG: bool> {
    width: usize,
    x: &'a [T],
    out: &'a mut [T],
    scales: &'a mut [RowScale<T>],
}

impl<T: Float, const LOG: bool> Loop for Rows<'_, T, LOG> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.width;
        if width < WIDE {
            return narrow_rows::<T, LOG, FMA>(width, self.x, self.out, self.scales);
        }
        let mut scales = self.scales.iter_mut();
        for (x, out) in self.x.chunks_exact(width).zip(self.out.chunks_exact_mut(width)) {
            if LOG {
                log_row::<T, FMA>(x, out);
                continue;
            }
            let (max, sum) = row::<T, FMA>(x, out);
            if let Some(scale) = scales.next() {
                *scale = RowScale { max, log_sum: sum.ln() };
            }
        }
    }
}

/// From this width on, rows are processed one at a time.
const WIDE: usize = 2 * LANES;

/// Returns the maximum, and the sum of `exp(x - max)`.
#[inline(always)]
fn row<T: Float, const FMA: bool>(x: &[T], out: &mut [T]) -> (T, T) {
    let max = fold(x, T::LOWEST, |x| x, Ordered::max);
    let sum = exponentials::<T, FMA>(x, max, out);
    let inverse = sum.recip();
    for power in out {
        *power = power.mul(inverse);
    }
    (max, sum)
}

/// Stores exp(x - max), and returns the sum.
#[inline(always)]
fn exponentials<T: Float, const FMA: bool>(x: &[T], max: T, powers: &mut [T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let ((x, x_tail), (powers, powers_tail)) = (x.as_chunks::<LANES>(), powers.as_chunks_mut::<LANES>());
    for (x, powers) in x.iter().zip(powers) {
        for lane in 0..LANES {
            powers[lane] = x[lane].sub(max).exp::<FMA>();
            sums[lane] = sums[lane].add(powers[lane]);
        }
    }
    for ((power, x), sum) in powers_tail.iter_mut().zip(x_tail).zip(&mut sums) {
        *power = x.sub(max).exp::<FMA>();
        *sum = sum.add(*power);
    }
    join(sums, Number::add)
}

#[inline(always)]
fn log_row<T: Float, const FMA: bool>(x: &[T], out: &mut [T]) {
    let max = fold(x, T::LOWEST, |x| x, Ordered::max);
    let sum = fold(x, T::ZERO, |x| x.sub(max).exp::<FMA>(), Number::add);
    let log = sum.ln();
    for (out, x) in out.iter_mut().zip(x) {
        *out = x.sub(max).sub(log);
    }
}

/// Short rows, a block of them at a time. The exponentials dominate, and are computed
/// across rows.
#[inline(always)]
fn narrow_rows<T: Float, const LOG: bool, const FMA: bool>(
    width: usize,
    x: &[T],
    out: &mut [T],
    scales: &mut [RowScale<T>],
) {
    let block = BLOCK / width * width;
    let mut shifted = scratch::filled(block.min(x.len()), T::ZERO);
    let mut powers = scratch::filled(shifted.len(), T::ZERO);
    let mut scaled = scales.chunks_mut(block / width);
    for (x, out) in x.chunks(block).zip(out.chunks_mut(block)) {
        let (shifted, powers) = (&mut shifted[..x.len()], &mut powers[..x.len()]);
        let scales = scaled.next().unwrap_or_default();
        for (row, (x, shifted)) in x.chunks_exact(width).zip(shifted.chunks_exact_mut(width)).enumerate() {
            let max = shift(x, shifted);
            if let Some(scale) = scales.get_mut(row) {
                scale.max = max;
            }
        }
        for (power, &x) in powers.iter_mut().zip(shifted.iter()) {
            *power = x.exp::<FMA>();
        }
        for (at, out) in out.chunks_exact_mut(width).enumerate() {
            let row = at * width..(at + 1) * width;
            let sum = fold(&powers[row.clone()], T::ZERO, |x| x, Number::add);
            if let Some(scale) = scales.get_mut(at) {
                scale.log_sum = sum.ln();
            }
            if LOG {
                let log = sum.ln();
                write(&shifted[row], out, |x| x.sub(log));
            } else {
                let inverse = sum.recip();
                write(&powers[row], out, |x| x.mul(inverse));
            }
        }
    }
}

/// Subtracts the maximum, and returns it.
#[inline(always)]
fn shift<T: Float>(x: &[T], shifted: &mut [T]) -> T {
    let max = fold(x, T::LOWEST, |x| x, Ordered::max);
    for (shifted, &x) in shifted.iter_mut().zip(x) {
        *shifted = x.sub(max);
    }
    max
}

#[inline(always)]
fn write<T: Float>(x: &[T], out: &mut [T], function: impl Fn(T) -> T) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = function(x);
    }
}

#[inline(always)]
fn fold<T: Copy, A: Copy>(x: &[T], init: A, widen: impl Fn(T) -> A, combine: impl Fn(A, A) -> A) -> A {
    let mut lanes = [init; LANES];
    let (blocks, tail) = x.as_chunks::<LANES>();
    if blocks.is_empty() {
        return tail.iter().fold(init, |acc, &x| combine(acc, widen(x)));
    }
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = combine(*lane, widen(x));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(tail) {
        *lane = combine(*lane, widen(x));
    }
    join(lanes, combine)
}

#[inline(always)]
fn join<A: Copy>(mut lanes: [A; LANES], combine: impl Fn(A, A) -> A) -> A {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

impl Float for f32 {
    #[inline(always)]
    fn sub(self, other: f32) -> f32 {
        self - other
    }

    fn recip(self) -> f32 {
        1.0 / self
    }

    fn ln(self) -> f32 {
        f32::ln(self)
    }

    #[inline(always)]
    fn exp<const FMA: bool>(self) -> f32 {
        scalar::exp::<FMA>(self)
    }
}

impl Float for f64 {
    #[inline(always)]
    fn sub(self, other: f64) -> f64 {
        self - other
    }

    fn recip(self) -> f64 {
        1.0 / self
    }

    fn ln(self) -> f64 {
        f64::ln(self)
    }

    #[inline(always)]
    fn exp<const FMA: bool>(self) -> f64 {
        scalar::exp_f64::<FMA>(self)
    }
}
