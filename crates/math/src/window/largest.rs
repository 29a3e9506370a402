//! The largest elements under windows, and where they are. A NaN is never larger than anything.

use super::{Grid, Lanes, for_lanes, for_rows, piece};
use crate::parallel::Parallel;
use crate::reduce::{Element, Number};
use crate::scratch;
use crate::simd::{Loop, widest};

/// The largest element of each channel under each window; `lowest` where there is none.
pub fn largest<T: Element + PartialOrd>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    lowest: T,
    images: &[T],
    out: &mut [T],
) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let cost = grid.rows.size.min(grid.rows.input) * grid.cols.size.min(grid.cols.input);
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(LargestRow { grid, depth, lowest, images, row, out })
    });
}

/// The number of a pixel: as wide as needed, since narrow ones are compared and moved faster.
pub trait Place: Copy + PartialEq + Send + Sync {
    /// That there is none.
    const NONE: Self;
    /// Whether loops with such places are compiled for each instruction set.
    const WIDE: bool;
    /// Pixels of an image must fit.
    fn of(pixel: usize) -> Self;
}

impl Place for i32 {
    const NONE: i32 = -1;
    const WIDE: bool = true;
    #[inline(always)]
    fn of(pixel: usize) -> i32 {
        pixel as i32
    }
}

impl Place for i64 {
    const NONE: i64 = -1;
    const WIDE: bool = false;
    #[inline(always)]
    fn of(pixel: usize) -> i64 {
        pixel as i64
    }
}

/// Where the largest element of each channel under each window is: the pixel, counted within its image. The first of several
/// that are equal.
pub fn largest_places<T: Element + PartialOrd, P: Place>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    images: &[T],
    out: &mut [P],
) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let cost = grid.rows.size.min(grid.rows.input) * grid.cols.size.min(grid.cols.input);
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(PlacesRow { grid, depth, images, row, out })
    });
}

/// Sums what each window has for the pixel that `places` names: the gradient of [`largest`] by the images.
pub fn sum_at_places<T: Number, P: Place>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    places: &[P],
    gradient: &[T],
    out: &mut [T],
) {
    assert_eq!(out.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(gradient.len(), grid.output_rows() * grid.cols.output * depth);
    assert_eq!(gradient.len(), places.len());
    let cost = grid.rows.size.min(grid.rows.output) * grid.cols.size.min(grid.cols.output);
    for_rows(par, out, grid.cols.input * depth, cost, &|row, out| {
        widest(SumRow { grid, depth, places, gradient, row, out })
    });
}

struct LargestRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    lowest: T,
    images: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Element + PartialOrd> Loop for LargestRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let what = Largest { grid: self.grid, depth, lowest: self.lowest, images: self.images, image, place };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// The largest at one row of places.
struct Largest<'a, T> {
    grid: &'a Grid,
    depth: usize,
    lowest: T,
    images: &'a [T],
    image: usize,
    place: usize,
}

impl<T: Copy + PartialOrd> Lanes<T> for Largest<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        let mut best = [self.lowest; N];
        for k in rows.taps(self.place) {
            let line = (self.image * rows.input + rows.at(self.place, k)) * cols.input;
            for l in cols.taps(col) {
                let x = piece::<T, N>(self.images, (line + cols.at(col, l)) * self.depth + first);
                for i in 0..N {
                    best[i] = if x[i] > best[i] { x[i] } else { best[i] };
                }
            }
        }
        *out = best;
    }
}

struct PlacesRow<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    row: usize,
    out: &'a mut [P],
}

impl<T: Element + PartialOrd, P: Place> Loop for PlacesRow<'_, T, P> {
    type Output = ();
    const WIDE: bool = T::WIDE && P::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let what = Places { grid: self.grid, depth, images: self.images, image, place };
        for_lanes::<FMA, P, _>(&what, depth, self.out);
    }
}

/// Where the largest are at one row of places.
struct Places<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    image: usize,
    place: usize,
}

impl<T: Copy + PartialOrd, P: Place> Lanes<P> for Places<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [P; N]) {
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        let (down, across) = (rows.taps(self.place), cols.taps(col));
        let pixel = |k: usize, l: usize| rows.at(self.place, k) * cols.input + cols.at(col, l);
        let under = |pixel: usize| {
            let image = self.image * rows.input * cols.input;
            *piece::<T, N>(self.images, (image + pixel) * self.depth + first)
        };
        if down.is_empty() || across.is_empty() {
            // A window on padding alone: no pixel.
            *out = [P::NONE; N];
            return;
        }
        let start = pixel(down.start, across.start);
        let (mut best, mut places) = (under(start), [P::of(start); N]);
        for k in down {
            for l in across.clone() {
                let here = pixel(k, l);
                let x = under(here);
                for i in 0..N {
                    // A NaN that came first gives way to any number.
                    #[allow(clippy::eq_op)]
                    let larger = x[i] > best[i] || (best[i] != best[i] && x[i] == x[i]);
                    best[i] = if larger { x[i] } else { best[i] };
                    places[i] = if larger { P::of(here) } else { places[i] };
                }
            }
        }
        *out = places;
    }
}

struct SumRow<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    places: &'a [P],
    gradient: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Number, P: Place> Loop for SumRow<'_, T, P> {
    type Output = ();
    const WIDE: bool = T::WIDE && P::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (depth, rows) = (self.depth, &self.grid.rows);
        let (image, position) = (self.row / rows.input, self.row % rows.input);
        let lines =
            rows.covering(position).map(|(place, _)| (image * rows.output + place) * self.grid.cols.output);
        let lines = scratch::collect(lines);
        let (places, gradient) = (self.places, self.gradient);
        let what = SumAt { grid: self.grid, depth, places, gradient, lines, position };
        for_lanes::<FMA, T, _>(&what, depth, self.out);
    }
}

/// What one row of positions gets.
struct SumAt<'a, T, P> {
    grid: &'a Grid,
    depth: usize,
    places: &'a [P],
    gradient: &'a [T],
    /// Where the rows of places begin whose windows cover it.
    lines: Vec<usize>,
    position: usize,
}

impl<T: Number, P: Place> Lanes<T> for SumAt<'_, T, P> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let cols = &self.grid.cols;
        let pixel = P::of(self.position * cols.input + col);
        let mut sums = [T::ZERO; N];
        for line in &self.lines {
            for (at, _) in cols.covering(col) {
                let from = (line + at) * self.depth + first;
                let (places, dy) = (piece::<P, N>(self.places, from), piece::<T, N>(self.gradient, from));
                for i in 0..N {
                    sums[i] = if places[i] == pixel { sums[i].add(dy[i]) } else { sums[i] };
                }
            }
        }
        *out = sums;
    }
}
