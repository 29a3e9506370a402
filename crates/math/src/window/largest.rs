//! The largest elements under windows, and where they are. A NaN is never larger than anything.

use super::{Grid, LANES, for_rows};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::simd::{Loop, widest};

/// The largest element of each channel under each window; `lowest` where there is none.
pub fn largest<T: Copy + PartialOrd + Send + Sync>(
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

/// Where the largest element of each channel under each window is: the pixel, counted within its image. The first of several
/// that are equal.
pub fn largest_places<T: Copy + PartialOrd + Send + Sync>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    images: &[T],
    out: &mut [i64],
) {
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * depth);
    assert_eq!(out.len(), grid.output_rows() * grid.cols.output * depth);
    let cost = grid.rows.size.min(grid.rows.input) * grid.cols.size.min(grid.cols.input);
    for_rows(par, out, grid.cols.output * depth, cost, &|row, out| {
        widest(PlacesRow { grid, depth, images, row, out })
    });
}

/// Sums what each window has for the pixel that `places` names: the gradient of [`largest`] by the images.
pub fn sum_at_places<T: Number>(
    par: &dyn Parallel,
    grid: &Grid,
    depth: usize,
    places: &[i64],
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

impl<T: Copy + PartialOrd> Loop for LargestRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let down = rows.taps(place);
        for (col, out) in self.out.chunks_exact_mut(depth).enumerate() {
            let across = cols.taps(col);
            for (lane, out) in out.chunks_mut(LANES).enumerate() {
                let mut best = [self.lowest; LANES];
                for k in down.clone() {
                    let line = (image * rows.input + rows.at(place, k)) * cols.input;
                    for l in across.clone() {
                        let at = (line + cols.at(col, l)) * depth + lane * LANES;
                        let x = &self.images[at..][..out.len()];
                        for (best, x) in best.iter_mut().zip(x) {
                            *best = if *x > *best { *x } else { *best };
                        }
                    }
                }
                out.copy_from_slice(&best[..out.len()]);
            }
        }
    }
}

struct PlacesRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    images: &'a [T],
    row: usize,
    out: &'a mut [i64],
}

impl<T: Copy + PartialOrd> Loop for PlacesRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let down = rows.taps(place);
        for (col, out) in self.out.chunks_exact_mut(depth).enumerate() {
            let across = cols.taps(col);
            // A window on padding alone: no pixel.
            out.fill(-1);
            let (Some(k0), Some(l0)) = (down.clone().next(), across.clone().next()) else { continue };
            let pixel = |k: usize, l: usize| rows.at(place, k) * cols.input + cols.at(col, l);
            let element = |pixel: usize| (image * rows.input * cols.input + pixel) * depth;
            for (lane, out) in out.chunks_mut(LANES).enumerate() {
                let first = pixel(k0, l0);
                let mut best = [self.images[element(first)]; LANES];
                let from = &self.images[element(first) + lane * LANES..][..out.len()];
                best[..out.len()].copy_from_slice(from);
                out.fill(first as i64);
                for k in down.clone() {
                    for l in across.clone() {
                        let here = pixel(k, l);
                        let x = &self.images[element(here) + lane * LANES..][..out.len()];
                        for ((best, x), out) in best.iter_mut().zip(x).zip(out.iter_mut()) {
                            // A NaN that came first gives way to any number.
                            #[allow(clippy::eq_op, clippy::neg_cmp_op_on_partial_ord)]
                            let larger = *x > *best || (*best != *best && *x == *x);
                            *best = if larger { *x } else { *best };
                            *out = if larger { here as i64 } else { *out };
                        }
                    }
                }
            }
        }
    }
}

struct SumRow<'a, T> {
    grid: &'a Grid,
    depth: usize,
    places: &'a [i64],
    gradient: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Number> Loop for SumRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, position) = (self.row / rows.input, self.row % rows.input);
        self.out.fill(T::ZERO);
        for (place, _) in rows.covering(position) {
            let line = (image * rows.output + place) * cols.output;
            for (col, out) in self.out.chunks_exact_mut(depth).enumerate() {
                let pixel = (position * cols.input + col) as i64;
                for (at, _) in cols.covering(col) {
                    let from = (line + at) * depth..(line + at + 1) * depth;
                    let (places, dy) = (&self.places[from.clone()], &self.gradient[from]);
                    for ((out, place), dy) in out.iter_mut().zip(places).zip(dy) {
                        *out = if *place == pixel { out.add(*dy) } else { *out };
                    }
                }
            }
        }
    }
}
