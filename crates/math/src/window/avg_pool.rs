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
    let cost = grid.rows.size.min(grid.rows.input) * grid.cols.size.min(grid.cols.input);
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
    let cost = grid.rows.size.min(grid.rows.output) * grid.cols.size.min(grid.cols.output);
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
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, out_row) = (self.row / rows.output, self.row % rows.output);
        let what = Average { grid: self.grid, depth, images: self.images, image, out_row };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The averages of one output row.
struct Average<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    image: usize,
    out_row: usize,
}

impl<T: Number> Lanes<T> for Average<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        let (down, across) = (rows.taps(self.out_row), cols.taps(col));
        let count = down.len() * across.len();
        let mut sums = [T::ZERO; N];
        for k in down {
            let line = (self.image * rows.input + rows.at(self.out_row, k)) * cols.input;
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
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, in_row) = (self.row / rows.input, self.row % rows.input);
        let places = rows
            .covering(in_row)
            .map(|(out_row, _)| (image * rows.output + out_row, rows.taps(out_row).len()));
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
    /// The output rows whose windows read it, and their number of non-padding rows.
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
