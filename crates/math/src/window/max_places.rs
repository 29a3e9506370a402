//! The gradients of max pooling that find the maximum again, by comparing elements with the pooled result.

use super::{Grid, Lanes, for_lanes, for_rows, lane_chunk};
use crate::parallel::Parallel;
use crate::reduce::{Element, Number};
use crate::scratch;
use crate::simd::{Loop, widest};

/// Adds each window's gradient to all its elements that equal the window's result.
pub fn max_places_gradient<T: Element + Number + PartialOrd>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    [volumes, results, gradient]: [&[T]; 3],
    out: &mut [T],
) {
    assert_eq!(volumes.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(results.len(), grid.output_rows() * grid.cols.output * depth);
    assert_eq!((gradient.len(), out.len()), (results.len(), volumes.len()));
    let [_, cost] = grid.costs();
    for_rows(par, out, grid.cols.input * depth, cost, &|row, out| {
        widest(ScatterRow { grid, depth, volumes, results, gradient, row, out })
    });
}

/// For each window, the value at its first element that equals the window's result, 0 if there is none.
pub fn max_places_gather<T: Element + Number + PartialOrd>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    [volumes, results, values]: [&[T]; 3],
    out: &mut [T],
) {
    assert_eq!(volumes.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(results.len(), grid.output_rows() * grid.cols.output * depth);
    assert_eq!((values.len(), out.len()), (volumes.len(), results.len()));
    let [cost, _] = grid.costs();
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(GatherRow { grid, depth, volumes, results, values, row, out })
    });
}

struct ScatterRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    volumes: &'a [T],
    results: &'a [T],
    gradient: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Element + Number + PartialOrd> Loop for ScatterRow<'_, T> {
    type Output = ();
    const WIDE: bool = <T as Number>::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (grid, depth) = (self.grid, self.depth);
        let lines = scratch::collect(grid.rows_over(grid.input_row(self.row)).map(|r| r * grid.cols.output));
        let here = &self.volumes[self.row * grid.cols.input * depth..];
        let what = Scatter { grid, depth, here, results: self.results, gradient: self.gradient, lines };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The gradients of one input row.
struct Scatter<'a, T> {
    grid: &'a Grid,
    depth: usize,
    /// The input, from this row on.
    here: &'a [T],
    results: &'a [T],
    gradient: &'a [T],
    /// Offsets of the output rows that read it.
    lines: Vec<usize>,
}

impl<T: Number + PartialOrd> Lanes<T> for Scatter<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let x = lane_chunk::<T, N>(self.here, col * self.depth + first);
        let mut sums = [T::ZERO; N];
        for line in &self.lines {
            for (at, _) in self.grid.cols.covering(col) {
                let from = (line + at) * self.depth + first;
                let (y, dy) =
                    (lane_chunk::<T, N>(self.results, from), lane_chunk::<T, N>(self.gradient, from));
                for i in 0..N {
                    sums[i] = if x[i] == y[i] { sums[i].add(dy[i]) } else { sums[i] };
                }
            }
        }
        *out = sums;
    }
}

struct GatherRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    volumes: &'a [T],
    results: &'a [T],
    values: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Element + Number + PartialOrd> Loop for GatherRow<'_, T> {
    type Output = ();
    const WIDE: bool = <T as Number>::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (grid, depth) = (self.grid, self.depth);
        let lines = scratch::collect(grid.rows_under(grid.output_row(self.row)).map(|r| r * grid.cols.input));
        let here = &self.results[self.row * grid.cols.output * depth..];
        let what = Gather { grid, depth, volumes: self.volumes, here, values: self.values, lines };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The values of one output row.
struct Gather<'a, T> {
    grid: &'a Grid,
    depth: usize,
    volumes: &'a [T],
    /// The results, from this row on.
    here: &'a [T],
    values: &'a [T],
    /// Offsets of the input rows that it reads.
    lines: Vec<usize>,
}

impl<T: Number + PartialOrd> Lanes<T> for Gather<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let cols = &self.grid.cols;
        let y = lane_chunk::<T, N>(self.here, col * self.depth + first);
        let (mut found, mut values) = ([false; N], [T::ZERO; N]);
        for line in &self.lines {
            for k in cols.taps(col) {
                let from = (line + cols.at(col, k)) * self.depth + first;
                let (x, v) = (lane_chunk::<T, N>(self.volumes, from), lane_chunk::<T, N>(self.values, from));
                for i in 0..N {
                    let hit = !found[i] & (x[i] == y[i]);
                    values[i] = if hit { v[i] } else { values[i] };
                    found[i] |= hit;
                }
            }
        }
        *out = values;
    }
}
