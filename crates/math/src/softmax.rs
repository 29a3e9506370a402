//! Softmax and its logarithm, over the rows of a matrix.
//!
//! f16 and bf16 are computed in f32. The largest element of a row is subtracted
//! first, so that nothing overflows.

use std::ops::Range;

use crate::elementary::scalar;
use crate::parallel::Parallel;
use crate::reduce::{Element, Number, Ordered};
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

/// exp(x) / sum(exp(x)) of each row of `width` elements.
pub fn softmax<T: Element<Acc: Float>>(parallel: &dyn Parallel, width: usize, x: &[T], out: &mut [T]) {
    rows::<T, false>(parallel, width, x, out);
}

/// x - log(sum(exp(x))) of each row of `width` elements.
pub fn log_softmax<T: Element<Acc: Float>>(parallel: &dyn Parallel, width: usize, x: &[T], out: &mut [T]) {
    rows::<T, true>(parallel, width, x, out);
}

/// Elements done together, which stay in the cache from one pass to the next.
const BLOCK: usize = 2048;

/// Sums and maxima are made in this many lanes.
const LANES: usize = 32;

fn rows<T: Element<Acc: Float>, const LOG: bool>(
    parallel: &dyn Parallel,
    width: usize,
    x: &[T],
    out: &mut [T],
) {
    assert_eq!(x.len(), out.len());
    if x.is_empty() {
        return;
    }
    assert!(x.len().is_multiple_of(width));
    let shared = SharedMut::new(out);
    parallel.run_ranges(x.len() / width, (2 * BLOCK).div_ceil(width), &|range: Range<usize>| {
        let range = range.start * width..range.end * width;
        // SAFETY: ranges of rows do not overlap.
        let out = unsafe { shared.range(range.clone()) };
        widest(Rows::<T, LOG> { width, x: &x[range], out });
    });
}

struct Rows<'a, T, const LOG: bool> {
    width: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Element<Acc: Float>, const LOG: bool> Loop for Rows<'_, T, LOG> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.width;
        if width < WIDE {
            return narrow_rows::<T, LOG, FMA>(width, self.x, self.out);
        }
        let mut powers = Vec::new();
        for (x, out) in self.x.chunks_exact(width).zip(self.out.chunks_exact_mut(width)) {
            if LOG {
                log_row::<T, FMA>(x, out);
            } else {
                row::<T, FMA>(x, out, &mut powers);
            }
        }
    }
}

/// From this width on, rows are done one at a time.
const WIDE: usize = 2 * LANES;

#[inline(always)]
fn row<T: Element<Acc: Float>, const FMA: bool>(x: &[T], out: &mut [T], powers: &mut Vec<T::Acc>) {
    let max = fold(x, T::Acc::LOWEST, T::widen, Ordered::max);
    if let Some(out) = T::as_acc(out) {
        let inverse = exponentials::<T, FMA>(x, max, out).recip();
        for power in out {
            *power = power.mul(inverse);
        }
        return;
    }
    powers.resize(x.len(), T::Acc::ZERO);
    let inverse = exponentials::<T, FMA>(x, max, powers).recip();
    write(powers, out, |power| power.mul(inverse));
}

/// Stores exp(x - max), and returns the sum.
#[inline(always)]
fn exponentials<T: Element<Acc: Float>, const FMA: bool>(
    x: &[T],
    max: T::Acc,
    powers: &mut [T::Acc],
) -> T::Acc {
    let mut sums = [T::Acc::ZERO; LANES];
    let ((x, x_tail), (powers, powers_tail)) = (x.as_chunks::<LANES>(), powers.as_chunks_mut::<LANES>());
    for (x, powers) in x.iter().zip(powers) {
        for lane in 0..LANES {
            powers[lane] = x[lane].widen().sub(max).exp::<FMA>();
            sums[lane] = sums[lane].add(powers[lane]);
        }
    }
    for ((power, x), sum) in powers_tail.iter_mut().zip(x_tail).zip(&mut sums) {
        *power = x.widen().sub(max).exp::<FMA>();
        *sum = sum.add(*power);
    }
    join(sums, Number::add)
}

#[inline(always)]
fn log_row<T: Element<Acc: Float>, const FMA: bool>(x: &[T], out: &mut [T]) {
    let max = fold(x, T::Acc::LOWEST, T::widen, Ordered::max);
    let sum = fold(x, T::Acc::ZERO, |x| x.widen().sub(max).exp::<FMA>(), Number::add);
    let log = sum.ln();
    for (out, x) in out.iter_mut().zip(x) {
        *out = T::narrow(x.widen().sub(max).sub(log));
    }
}

/// Short rows, a block of them at a time. Only the exponentials cost, and they
/// know no rows.
#[inline(always)]
fn narrow_rows<T: Element<Acc: Float>, const LOG: bool, const FMA: bool>(
    width: usize,
    x: &[T],
    out: &mut [T],
) {
    let block = BLOCK / width * width;
    let mut shifted = vec![T::Acc::ZERO; block.min(x.len())];
    let mut powers = shifted.clone();
    for (x, out) in x.chunks(block).zip(out.chunks_mut(block)) {
        let (shifted, powers) = (&mut shifted[..x.len()], &mut powers[..x.len()]);
        for (x, shifted) in x.chunks_exact(width).zip(shifted.chunks_exact_mut(width)) {
            shift(x, shifted);
        }
        for (power, &x) in powers.iter_mut().zip(shifted.iter()) {
            *power = x.exp::<FMA>();
        }
        for (row, out) in out.chunks_exact_mut(width).enumerate() {
            let row = row * width..(row + 1) * width;
            let sum = fold(&powers[row.clone()], T::Acc::ZERO, |x| x, Number::add);
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

/// Subtracts the largest element.
#[inline(always)]
fn shift<T: Element<Acc: Float>>(x: &[T], shifted: &mut [T::Acc]) {
    let max = fold(x, T::Acc::LOWEST, T::widen, Ordered::max);
    for (shifted, &x) in shifted.iter_mut().zip(x) {
        *shifted = x.widen().sub(max);
    }
}

#[inline(always)]
fn write<T: Element>(x: &[T::Acc], out: &mut [T], function: impl Fn(T::Acc) -> T::Acc) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = T::narrow(function(x));
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
