//! Depthwise convolution: each channel has its own filters.

use super::{Grid, Lanes, for_lanes, for_rows, lane_chunk};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, mul_add, mul_add_f64, widest};
use std::ops::Range;

/// `channels` input channels, each with `multiplier` filters, whose outputs are adjacent channels.
#[derive(Clone, Copy, Debug)]
pub struct Depthwise {
    pub grid: Grid,
    pub channels: usize,
    pub multiplier: usize,
}

/// A fused multiply-add where the CPU has one.
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

/// Integers wrap.
impl Fused for i32 {
    #[inline(always)]
    fn fused<const FMA: bool>(a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
}

/// The filter's gradient is a sum over rows, in at most `PARTS` partial sums of at most `PARTS_LEN` elements together, which are
/// then added in order.
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

    /// The convolution of images with a filter of shape [rows, columns, channels, multiplier].
    pub fn convolve<T: Fused>(&self, par: &dyn Parallel, images: &[T], filter: &[T], out: &mut [T]) {
        assert_eq!((images.len(), filter.len()), (self.input_len(), self.filter_len()));
        assert_eq!(out.len(), self.output_len());
        for_rows(par, out, self.grid.cols.output * self.outputs(), self.grid.taps(), &|row, out| {
            widest(ForwardRow { what: self, images, filter, row, out })
        });
    }

    /// The gradient of [`convolve`](Self::convolve) with respect to the images.
    pub fn input_gradient<T: Fused>(&self, par: &dyn Parallel, gradient: &[T], filter: &[T], out: &mut [T]) {
        assert_eq!((gradient.len(), filter.len()), (self.output_len(), self.filter_len()));
        assert_eq!(out.len(), self.input_len());
        let cost = self.grid.taps().saturating_mul(self.multiplier);
        for_rows(par, out, self.grid.cols.input * self.channels, cost, &|row, out| {
            widest(BackwardRow { what: self, gradient, filter, row, out })
        });
    }

    /// The gradient of [`convolve`](Self::convolve) with respect to the filter.
    pub fn filter_gradient<T: Fused>(&self, par: &dyn Parallel, images: &[T], gradient: &[T], out: &mut [T]) {
        assert_eq!((images.len(), gradient.len()), (self.input_len(), self.output_len()));
        assert_eq!(out.len(), self.filter_len());
        out.fill(T::ZERO);
        let rows = self.grid.output_rows();
        if rows == 0 || out.is_empty() {
            return;
        }
        let each = rows.div_ceil(PARTS.min(PARTS_LEN / out.len()).max(1));
        let parts = rows.div_ceil(each);
        let mut sums = scratch::filled(parts * out.len(), T::ZERO);
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
        let rows = &self.what.grid.rows;
        let (image, out_row) = (self.row / rows.output, self.row % rows.output);
        let row = Forward { what: self.what, images: self.images, filter: self.filter, image, out_row };
        for_lanes::<FMA, T, _>(&row, self.what.outputs(), self.out);
    }
}

/// One output row.
struct Forward<'a, T> {
    what: &'a Depthwise,
    images: &'a [T],
    filter: &'a [T],
    image: usize,
    out_row: usize,
}

impl<T: Fused> Lanes<T> for Forward<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let what = self.what;
        let (rows, cols) = (&what.grid.rows, &what.grid.cols);
        let mut sums = [T::ZERO; N];
        for k in rows.taps(self.out_row) {
            let line = (self.image * rows.input + rows.at(self.out_row, k)) * cols.input;
            for l in cols.taps(col) {
                let from = (line + cols.at(col, l)) * what.channels;
                let f = lane_chunk::<T, N>(self.filter, (k * cols.size + l) * what.outputs() + first);
                if what.multiplier == 1 {
                    let x = lane_chunk::<T, N>(self.images, from + first);
                    for i in 0..N {
                        sums[i] = T::fused::<FMA>(x[i], f[i], sums[i]);
                    }
                } else {
                    let x = &self.images[from..][..what.channels];
                    for i in 0..N {
                        sums[i] = T::fused::<FMA>(x[(first + i) / what.multiplier], f[i], sums[i]);
                    }
                }
            }
        }
        *out = sums;
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
        let rows = &self.what.grid.rows;
        let (image, in_row) = (self.row / rows.input, self.row % rows.input);
        let out_rows =
            scratch::collect(rows.covering(in_row).map(|(out_row, k)| (image * rows.output + out_row, k)));
        let row = Backward { what: self.what, gradient: self.gradient, filter: self.filter, out_rows };
        for_lanes::<FMA, T, _>(&row, self.what.channels, self.out);
    }
}

/// The gradients of one input row.
struct Backward<'a, T> {
    what: &'a Depthwise,
    gradient: &'a [T],
    filter: &'a [T],
    /// The output rows that read it, and the tap.
    out_rows: Vec<(usize, usize)>,
}

impl<T: Fused> Lanes<T> for Backward<'_, T> {
    #[inline(always)]
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]) {
        let (what, cols, each) = (self.what, &self.what.grid.cols, self.what.multiplier);
        let mut sums = [T::ZERO; N];
        for (row, k) in &self.out_rows {
            for (at, l) in cols.covering(col) {
                let from = (row * cols.output + at) * what.outputs() + first * each;
                let tap = (k * cols.size + l) * what.outputs() + first * each;
                if each == 1 {
                    let (dy, f) =
                        (lane_chunk::<T, N>(self.gradient, from), lane_chunk::<T, N>(self.filter, tap));
                    for i in 0..N {
                        sums[i] = T::fused::<FMA>(dy[i], f[i], sums[i]);
                    }
                } else {
                    let (dy, f) = (&self.gradient[from..][..N * each], &self.filter[tap..][..N * each]);
                    for i in 0..N * each {
                        sums[i / each] = T::fused::<FMA>(dy[i], f[i], sums[i / each]);
                    }
                }
            }
        }
        *out = sums;
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
            let (image, out_row) = (row / rows.output, row % rows.output);
            for k in rows.taps(out_row) {
                let line = (image * rows.input + rows.at(out_row, k)) * cols.input;
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
