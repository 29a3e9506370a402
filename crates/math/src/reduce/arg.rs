//! Argmax and argmin along an axis.

use std::ops::Range;

use super::reducers::Element;
use crate::parallel::Parallel;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Columns of a tile.
const TILE: usize = 512;

/// Lanes of a row reduction.
const LANES: usize = 64;

/// For an array of shape `[outer, len, inner]`, the index of the maximum along the
/// middle axis: the first of equal ones, and that of a NaN only if all are NaN.
pub fn arg_max<T: Element + PartialOrd>(
    parallel: &dyn Parallel,
    [outer, len, inner]: [usize; 3],
    input: &[T],
    out: &mut [i64],
) {
    arg(parallel, [outer, len, inner], input, out, |x, best| x > best);
}

/// As [`arg_max`], of the minimum.
pub fn arg_min<T: Element + PartialOrd>(
    parallel: &dyn Parallel,
    [outer, len, inner]: [usize; 3],
    input: &[T],
    out: &mut [i64],
) {
    arg(parallel, [outer, len, inner], input, out, |x, best| x < best);
}

fn arg<T: Element + PartialOrd>(
    parallel: &dyn Parallel,
    [outer, len, inner]: [usize; 3],
    input: &[T],
    out: &mut [i64],
    better: impl Fn(T, T) -> bool + Sync,
) {
    assert!(len > 0, "an empty axis has no largest element");
    assert_eq!((input.len(), out.len()), (outer * len * inner, outer * inner));
    let grain = ((1 << 15) / len).max(1);
    let shared = SharedMut::new(out);
    parallel.run_ranges(outer * inner, grain, &|range| {
        // SAFETY: the ranges are disjoint.
        let out = unsafe { shared.range(range.clone()) };
        widest(Search { input, len, inner, range, out, better: &better });
    });
}

struct Search<'a, T, F> {
    input: &'a [T],
    len: usize,
    inner: usize,
    range: Range<usize>,
    out: &'a mut [i64],
    better: &'a F,
}

impl<T: Element + PartialOrd, F: Fn(T, T) -> bool> Loop for Search<'_, T, F> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut done = self.range.start;
        while done < self.range.end {
            let (outer, column) = (done / self.inner, done % self.inner);
            let width = TILE.min(self.inner - column).min(self.range.end - done);
            let out = &mut self.out[done - self.range.start..][..width];
            let first = &self.input[outer * self.len * self.inner + column..];
            if self.inner == 1 {
                out[0] = row(&first[..self.len], self.better);
            } else {
                columns(first, self.len, self.inner, out, self.better);
            }
            done += width;
        }
    }
}

#[inline(always)]
fn wins<T: Copy + PartialOrd>(x: T, best: T, better: &impl Fn(T, T) -> bool) -> bool {
    // Only a NaN differs from itself; anything else replaces it.
    #[allow(clippy::eq_op)]
    let replaces_nan = best != best && x == x;
    better(x, best) | replaces_nan
}

/// The contiguous axis is searched in `LANES` independent lanes, whose winners are
/// then compared.
#[inline(always)]
fn row<T: Copy + PartialOrd>(row: &[T], better: &impl Fn(T, T) -> bool) -> i64 {
    let mut at = [0; LANES];
    let (len, mut best) = (row.len() / LANES, 0);
    if len > 0 {
        columns(row, len, LANES, &mut at, better);
        for (lane, index) in at.into_iter().enumerate() {
            let index = index as usize * LANES + lane;
            let (x, y) = (row[index], row[best]);
            if wins(x, y, better) || (x == y && index < best) {
                best = index;
            }
        }
    }
    for index in len * LANES..row.len() {
        if wins(row[index], row[best], better) {
            best = index;
        }
    }
    best as i64
}

#[inline(always)]
fn columns<T: Copy + PartialOrd>(
    input: &[T],
    len: usize,
    stride: usize,
    out: &mut [i64],
    better: &impl Fn(T, T) -> bool,
) {
    out.fill(0);
    let mut best = [input[0]; TILE];
    let best = &mut best[..out.len()];
    best.copy_from_slice(&input[..out.len()]);
    for index in 1..len {
        let row = &input[index * stride..][..out.len()];
        for ((best, at), &x) in best.iter_mut().zip(out.iter_mut()).zip(row) {
            let wins = wins(x, *best, better);
            *best = if wins { x } else { *best };
            *at = if wins { index as i64 } else { *at };
        }
    }
}
