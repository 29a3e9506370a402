//! Convolution of each channel with filters of its own.

use super::{Grid, LANES, for_rows};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::shared::SharedMut;
use crate::simd::{Loop, mul_add, mul_add_f64, widest};
use std::ops::Range;

/// `channels` channels, each with `multiplier` filters, whose results lie side by side.
#[derive(Clone, Copy, Debug)]
pub struct Depthwise {
    pub grid: Grid,
    pub channels: usize,
    pub multiplier: usize,
}

/// What is multiplied and added in one step where that costs nothing.
pub trait Fused: Number {
    /// `a * b + c`.
    fn fused<const FMA: bool>(a: Self, b: Self, c: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
        mul_add::<FMA>(a, b, c)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
        mul_add_f64::<FMA>(a, b, c)
    }
}

/// Sums of many rows are made in at most this many parts, of at most so many elements together, which are then added in order.
const PARTS: usize = 16;
const PARTS_LEN: usize = 1 << 22;

impl Depthwise {
    fn outputs(&self) -> usize {
        self.channels * self.multiplier
    }

    fn input_len(&self) -> usize {
        self.grid.input_rows() * self.grid.cols.input * self.channels
    }

    fn output_len(&self) -> usize {
        self.grid.output_rows() * self.grid.cols.output * self.outputs()
    }

    fn filter_len(&self) -> usize {
        self.grid.taps() * self.outputs()
    }

    /// The convolution of images with a filter: rows, columns, channels, filters of a channel.
    pub fn convolve<T: Fused>(&self, par: &dyn Parallel, images: &[T], filter: &[T], out: &mut [T]) {
        assert_eq!((images.len(), filter.len()), (self.input_len(), self.filter_len()));
        assert_eq!(out.len(), self.output_len());
        for_rows(par, out, self.grid.cols.output * self.outputs(), self.grid.taps(), &|row, out| {
            widest(ForwardRow { what: self, images, filter, row, out })
        });
    }

    /// The gradient of [`convolve`](Self::convolve) by the images.
    pub fn by_images<T: Fused>(&self, par: &dyn Parallel, gradient: &[T], filter: &[T], out: &mut [T]) {
        assert_eq!((gradient.len(), filter.len()), (self.output_len(), self.filter_len()));
        assert_eq!(out.len(), self.input_len());
        let cost = self.grid.taps().saturating_mul(self.multiplier);
        for_rows(par, out, self.grid.cols.input * self.channels, cost, &|row, out| {
            widest(BackwardRow { what: self, gradient, filter, row, out })
        });
    }

    /// The gradient of [`convolve`](Self::convolve) by the filter.
    pub fn by_filter<T: Fused>(&self, par: &dyn Parallel, images: &[T], gradient: &[T], out: &mut [T]) {
        assert_eq!((images.len(), gradient.len()), (self.input_len(), self.output_len()));
        assert_eq!(out.len(), self.filter_len());
        out.fill(T::ZERO);
        let rows = self.grid.output_rows();
        if rows == 0 || out.is_empty() {
            return;
        }
        let each = rows.div_ceil(PARTS.min(PARTS_LEN / out.len()).max(1));
        let parts = rows.div_ceil(each);
        let mut sums = vec![T::ZERO; parts * out.len()];
        let shared = SharedMut::new(&mut sums);
        par.run_ranges(parts, 1, &|range| {
            for part in range {
                // SAFETY: each part is in one range only.
                let sums = unsafe { shared.range(part * out.len()..(part + 1) * out.len()) };
                let rows = part * each..rows.min((part + 1) * each);
                widest(FilterSums { what: self, images, gradient, rows, sums });
            }
        });
        for part in sums.chunks_exact(out.len()) {
            for (out, sum) in out.iter_mut().zip(part) {
                *out = out.add(*sum);
            }
        }
    }
}

struct ForwardRow<'a, T> {
    what: &'a Depthwise,
    images: &'a [T],
    filter: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Fused> Loop for ForwardRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let what = self.what;
        let (rows, cols, channels, each) = (&what.grid.rows, &what.grid.cols, what.channels, what.multiplier);
        let (image, place) = (self.row / rows.output, self.row % rows.output);
        let down = rows.taps(place);
        for (col, out) in self.out.chunks_exact_mut(what.outputs()).enumerate() {
            let across = cols.taps(col);
            // Whole channels at a time: of one filter each, as many as there are lanes.
            let step = if each == 1 { LANES } else { 1 };
            for (block, out) in out.chunks_mut(step * each).enumerate() {
                let first = block * step;
                let mut sums = [T::ZERO; LANES];
                if each != 1 {
                    out.fill(T::ZERO);
                }
                for k in down.clone() {
                    let line = (image * rows.input + rows.at(place, k)) * cols.input;
                    for l in across.clone() {
                        let x = &self.images[(line + cols.at(col, l)) * channels + first..];
                        let f = &self.filter[((k * cols.size + l) * channels + first) * each..][..out.len()];
                        if each == 1 {
                            for ((sum, x), f) in sums.iter_mut().zip(&x[..out.len()]).zip(f) {
                                *sum = T::fused::<FMA>(*x, *f, *sum);
                            }
                        } else {
                            for (out, f) in out.iter_mut().zip(f) {
                                *out = T::fused::<FMA>(x[0], *f, *out);
                            }
                        }
                    }
                }
                if each == 1 {
                    out.copy_from_slice(&sums[..out.len()]);
                }
            }
        }
    }
}

struct BackwardRow<'a, T> {
    what: &'a Depthwise,
    gradient: &'a [T],
    filter: &'a [T],
    row: usize,
    out: &'a mut [T],
}

impl<T: Fused> Loop for BackwardRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let what = self.what;
        let (rows, cols, each) = (&what.grid.rows, &what.grid.cols, what.multiplier);
        let (image, position) = (self.row / rows.input, self.row % rows.input);
        self.out.fill(T::ZERO);
        for (place, k) in rows.covering(position) {
            let line = (image * rows.output + place) * cols.output;
            for (col, out) in self.out.chunks_exact_mut(what.channels).enumerate() {
                for (at, l) in cols.covering(col) {
                    let dy = &self.gradient[(line + at) * what.outputs()..][..what.outputs()];
                    let f = &self.filter[(k * cols.size + l) * what.outputs()..][..what.outputs()];
                    if each == 1 {
                        for ((out, dy), f) in out.iter_mut().zip(dy).zip(f) {
                            *out = T::fused::<FMA>(*dy, *f, *out);
                        }
                        continue;
                    }
                    for ((out, dy), f) in out.iter_mut().zip(dy.chunks_exact(each)).zip(f.chunks_exact(each))
                    {
                        for (dy, f) in dy.iter().zip(f) {
                            *out = T::fused::<FMA>(*dy, *f, *out);
                        }
                    }
                }
            }
        }
    }
}

struct FilterSums<'a, T> {
    what: &'a Depthwise,
    images: &'a [T],
    gradient: &'a [T],
    rows: Range<usize>,
    sums: &'a mut [T],
}

impl<T: Fused> Loop for FilterSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let what = self.what;
        let (rows, cols, each) = (&what.grid.rows, &what.grid.cols, what.multiplier);
        for row in self.rows {
            let (image, place) = (row / rows.output, row % rows.output);
            for k in rows.taps(place) {
                let line = (image * rows.input + rows.at(place, k)) * cols.input;
                for col in 0..cols.output {
                    let dy = &self.gradient[(row * cols.output + col) * what.outputs()..][..what.outputs()];
                    for l in cols.taps(col) {
                        let x = &self.images[(line + cols.at(col, l)) * what.channels..][..what.channels];
                        let sums = &mut self.sums[(k * cols.size + l) * what.outputs()..][..what.outputs()];
                        if each == 1 {
                            for ((sum, x), dy) in sums.iter_mut().zip(x).zip(dy) {
                                *sum = T::fused::<FMA>(*x, *dy, *sum);
                            }
                            continue;
                        }
                        let groups = sums.chunks_exact_mut(each).zip(dy.chunks_exact(each));
                        for ((sums, dy), x) in groups.zip(x) {
                            for (sum, dy) in sums.iter_mut().zip(dy) {
                                *sum = T::fused::<FMA>(*x, *dy, *sum);
                            }
                        }
                    }
                }
            }
        }
    }
}
