//! Max pooling, its argmax and its gradient. NaN never wins.

use super::{Grid, Lanes, for_lanes, for_rows, lane_chunk};
use crate::parallel::Parallel;
use crate::reduce::{Element, Number};
use crate::scratch;
use crate::simd::{Loop, widest};

/// The maximum of each channel over each window; `lowest` where a window is all padding.
pub fn max_pool<T: Element + PartialOrd>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    lowest: T,
    images: &[T],
    out: &mut [T],
) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let [cost, _] = grid.costs();
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(MaxPoolRow { grid, depth, lowest, images, row, out })
    });
}

/// The index of a pixel. `i32` where it suffices: narrow indices are compared and moved faster.
pub trait ArgmaxIndex: Copy + PartialEq + Send + Sync {
    /// No pixel.
    const NONE: Self;
    /// Whether loops with such indices are compiled for each instruction set.
    const WIDE: bool;
    /// Pixels of an image must fit.
    fn of(pixel: usize) -> Self;
}

impl ArgmaxIndex for i32 {
    const NONE: i32 = -1;
    const WIDE: bool = true;
    #[inline(always)]
    fn of(pixel: usize) -> i32 {
        pixel as i32
    }
}

impl ArgmaxIndex for i64 {
    const NONE: i64 = -1;
    const WIDE: bool = false;
    #[inline(always)]
    fn of(pixel: usize) -> i64 {
        pixel as i64
    }
}

/// For images: the index, within its image, of the pixel with the maximum of each channel over each window; the first of equal ones.
pub fn max_pool_argmax<T: Element + PartialOrd, P: ArgmaxIndex>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    images: &[T],
    out: &mut [P],
) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let [cost, _] = grid.costs();
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(ArgmaxRow { grid, depth, images, row, out })
    });
}

/// The gradient of [`max_pool`] of images with respect to them: each window's gradient is added to its pixel in `argmax`.
pub fn max_pool_gradient<T: Number, P: ArgmaxIndex>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    argmax: &[P],
    gradient: &[T],
    out: &mut [T],
) {
    assert_eq!(out.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(gradient.len(), grid.output_rows() * grid.cols.output * depth);
    assert_eq!(gradient.len(), argmax.len());
    let [_, cost] = grid.costs();
    for_rows(par, out, grid.cols.input * depth, cost, &|row, out| {
        widest(GradientRow { grid, depth, argmax, gradient, row, out })
    });
}

struct MaxPoolRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    lowest: T,
    images: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Element + PartialOrd> Loop for MaxPoolRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, grid, at) = (self.depth, self.grid, self.grid.output_row(self.row));
        let lines = scratch::collect(grid.rows_under(at).map(|row| row * grid.cols.input));
        let what = MaxPool { grid, depth, lowest: self.lowest, images: self.images, lines };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The maxima of one output row.
struct MaxPool<'a, T> {
    grid: &'a Grid,
    depth: usize,
    lowest: T,
    images: &'a [T],
    /// Offsets of the input rows that it reads.
    lines: Vec<usize>,
}

impl<T: Copy + PartialOrd> Lanes<T> for MaxPool<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let cols = &self.grid.cols;
        let mut best = [self.lowest; N];
        for line in &self.lines {
            for l in cols.taps(col) {
                let x = lane_chunk::<T, N>(self.images, (line + cols.at(col, l)) * self.depth + first);
                for i in 0..N {
                    best[i] = if x[i] > best[i] { x[i] } else { best[i] };
                }
            }
        }
        *out = best;
    }
}

struct ArgmaxRow<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    row: usize,
    out: &'a mut [P],
}

impl<T: Element + PartialOrd, P: ArgmaxIndex> Loop for ArgmaxRow<'_, T, P> {
    type Output = ();
    const WIDE: bool = T::WIDE && P::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, out_row) = (self.row / rows.output, self.row % rows.output);
        let what = Argmax { grid: self.grid, depth, images: self.images, image, out_row };
        for_lanes::<FMA, P, _>(&what, depth, self.out);
    }
}

/// The argmax of one output row.
struct Argmax<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    image: usize,
    out_row: usize,
}

impl<T: Copy + PartialOrd, P: ArgmaxIndex> Lanes<P> for Argmax<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [P; N]) {
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        let (down, across) = (rows.taps(self.out_row), cols.taps(col));
        let pixel = |k: usize, l: usize| rows.at(self.out_row, k) * cols.input + cols.at(col, l);
        let under = |pixel: usize| {
            let image = self.image * rows.input * cols.input;
            *lane_chunk::<T, N>(self.images, (image + pixel) * self.depth + first)
        };
        if down.is_empty() || across.is_empty() {
            // The window is all padding.
            *out = [P::NONE; N];
            return;
        }
        let start = pixel(down.start, across.start);
        let (mut best, mut argmax) = (under(start), [P::of(start); N]);
        for k in down {
            for l in across.clone() {
                let here = pixel(k, l);
                let x = under(here);
                for i in 0..N {
                    // A NaN that came first is replaced by any number.
                    #[allow(clippy::eq_op)]
                    let larger = x[i] > best[i] || (best[i] != best[i] && x[i] == x[i]);
                    best[i] = if larger { x[i] } else { best[i] };
                    argmax[i] = if larger { P::of(here) } else { argmax[i] };
                }
            }
        }
        *out = argmax;
    }
}

struct GradientRow<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    argmax: &'a [P],
    gradient: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Number, P: ArgmaxIndex> Loop for GradientRow<'_, T, P> {
    type Output = ();
    const WIDE: bool = T::WIDE && P::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, in_row) = (self.row / rows.input, self.row % rows.input);
        let lines =
            rows.covering(in_row).map(|(out_row, _)| (image * rows.output + out_row) * self.grid.cols.output);
        let lines = scratch::collect(lines);
        let (argmax, gradient) = (self.argmax, self.gradient);
        let what = Gradient { grid: self.grid, depth, argmax, gradient, lines, in_row };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The gradients of one input row.
struct Gradient<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    argmax: &'a [P],
    gradient: &'a [T],
    /// Offsets of the output rows that read it.
    lines: Vec<usize>,
    in_row: usize,
}

impl<T: Number, P: ArgmaxIndex> Lanes<T> for Gradient<'_, T, P> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let cols = &self.grid.cols;
        let pixel = P::of(self.in_row * cols.input + col);
        let mut sums = [T::ZERO; N];
        for line in &self.lines {
            for (at, _) in cols.covering(col) {
                let from = (line + at) * self.depth + first;
                let (argmax, dy) =
                    (lane_chunk::<P, N>(self.argmax, from), lane_chunk::<T, N>(self.gradient, from));
                for i in 0..N {
                    sums[i] = if argmax[i] == pixel { sums[i].add(dy[i]) } else { sums[i] };
                }
            }
        }
        *out = sums;
    }
}
