//! Averages under windows; padding does not count.

use super::{Grid, LANES, for_rows};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::simd::{Loop, widest};

/// The average of each channel under each window.
pub fn average<T: Number>(par: &dyn Parallel, grid: &Grid, depth: usize, images: &[T], out: &mut [T]) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let cost = grid.rows.size.min(grid.rows.input) * grid.cols.size.min(grid.cols.input);
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(AverageRow { grid, depth, images, row, out })
    });
}

/// The gradient of [`average`] by the images.
pub fn average_gradient<T: Number>(
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

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let down = rows.taps(place);
        for (col, out) in self.out.chunks_exact_mut(depth).enumerate() {
            let across = cols.taps(col);
            let count = down.len() * across.len();
            for (lane, out) in out.chunks_mut(LANES).enumerate() {
                let mut sums = [T::ZERO; LANES];
                for k in down.clone() {
                    let line = (image * rows.input + rows.at(place, k)) * cols.input;
                    for l in across.clone() {
                        let at = (line + cols.at(col, l)) * depth + lane * LANES;
                        let x = &self.images[at..][..out.len()];
                        for (sum, x) in sums.iter_mut().zip(x) {
                            *sum = sum.add(*x);
                        }
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = if count == 0 { T::ZERO } else { sum.div_count(count) };
                }
            }
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

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, position) = (self.row / rows.input, self.row % rows.input);
        self.out.fill(T::ZERO);
        for (place, _) in rows.covering(position) {
            let line = (image * rows.output + place) * cols.output;
            let down = rows.taps(place).len();
            for (col, out) in self.out.chunks_exact_mut(depth).enumerate() {
                for (at, _) in cols.covering(col) {
                    let count = down * cols.taps(at).len();
                    let dy = &self.gradient[(line + at) * depth..][..depth];
                    for (out, dy) in out.iter_mut().zip(dy) {
                        *out = out.add(dy.div_count(count));
                    }
                }
            }
        }
    }
}
