//! Average pooling; padding does not count.

use super::{Grid, Lanes, for_lanes, for_rows, lane_chunk};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::scratch;
use crate::simd::{Loop, widest};

/// The average of each channel over each window.
pub fn avg_pool<T: Number>(par: &dyn Parallel, grid: &Grid, depth: usize, images: &[T], out: &mut [T]) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let [cost, _] = grid.costs();
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(AverageRow { grid, depth, images, row, out })
    });
}

/// The gradient of [`avg_pool`] with respect to the images.
pub fn avg_pool_gradient<T: Number>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    gradient: &[T],
    out: &mut [T],
) {
    assert_eq!(out.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(gradient.len(), grid.output_rows() * grid.cols.output * depth);
    let [_, cost] = grid.costs();
    for_rows(par, out, grid.cols.input * depth, cost, &|row, out| {
        widest(GradientRow { grid, depth, gradient, row, out })
    });
}

struct AverageRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Number> Loop for AverageRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, grid, at) = (self.depth, self.grid, self.grid.output_row(self.row));
        let lines = scratch::collect(grid.rows_under(at).map(|row| row * grid.cols.input));
        let what = Average { grid, depth, images: self.images, lines };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The averages of one output row.
struct Average<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    /// Offsets of the input rows that it reads.
    lines: Vec<usize>,
}

impl<T: Number> Lanes<T> for Average<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let (cols, across) = (&self.grid.cols, self.grid.cols.taps(col));
        let count = self.lines.len() * across.len();
        let mut sums = [T::ZERO; N];
        for line in &self.lines {
            for l in across.clone() {
                let x = lane_chunk::<T, N>(self.images, (line + cols.at(col, l)) * self.depth + first);
                for i in 0..N {
                    sums[i] = sums[i].add(x[i]);
                }
            }
        }
        for i in 0..N {
            out[i] = if count == 0 { T::ZERO } else { sums[i].div_count(count) };
        }
    }
}

struct GradientRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    gradient: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Number> Loop for GradientRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, grid) = (self.depth, self.grid);
        let places = grid.rows_over(grid.input_row(self.row)).map(|out| {
            let [_, plane, row] = grid.output_row(out);
            (out, grid.planes.taps(plane).len() * grid.rows.taps(row).len())
        });
        let what =
            Gradient { grid: self.grid, depth, gradient: self.gradient, places: scratch::collect(places) };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The gradients of one input row.
struct Gradient<'a, T> {
    grid: &'a Grid,
    depth: usize,
    gradient: &'a [T],
    /// The output rows whose windows read it, and their number of rows that are no padding.
    places: Vec<(usize, usize)>,
}

impl<T: Number> Lanes<T> for Gradient<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let cols = &self.grid.cols;
        let mut sums = [T::ZERO; N];
        for (row, down) in &self.places {
            for (at, _) in cols.covering(col) {
                let count = down * cols.taps(at).len();
                let dy = lane_chunk::<T, N>(self.gradient, (row * cols.output + at) * self.depth + first);
                for i in 0..N {
                    sums[i] = sums[i].add(dy[i].div_count(count));
                }
            }
        }
        *out = sums;
    }
}
