//! Sliding windows over images: im2col and col2im, pooling, depthwise convolution.
//!
//! Images are NHWC, volumes NDHWC: an image is a volume of one plane. A [`WindowAxis`] has stride, dilation and padding of a window
//! along one dimension; a [`Grid`] is a batch of volumes with a window over planes, rows and columns. Parallel loops run over
//! rows, and the order of each sum depends on the shapes alone, so results do not depend on the number of threads.

mod avg_pool;
mod depthwise;
mod im2col;
mod max_places;
mod max_pool;
mod padded;

pub use avg_pool::{avg_pool, avg_pool_gradient};
pub use depthwise::{Depthwise, Fused};
pub use im2col::{Patches, col2im};
pub use max_places::{max_places_gather, max_places_gradient};
pub use max_pool::{ArgmaxIndex, max_pool, max_pool_argmax, max_pool_gradient};

use crate::parallel::Parallel;
use crate::shared::SharedMut;
use std::ops::Range;

/// A window along one dimension: tap `k` of output `o` reads input `o * stride + k * dilation - before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAxis {
    /// Input size.
    pub input: usize,
    /// Output size.
    pub output: usize,
    /// Filter (window) size: its number of taps.
    pub size: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Padding before the first input.
    pub before: usize,
}

impl WindowAxis {
    /// The only position of a dimension that is not there.
    pub const ONE: WindowAxis =
        WindowAxis { input: 1, output: 1, size: 1, stride: 1, dilation: 1, before: 0 };

    /// The taps of an output that read the input, not padding.
    #[inline]
    pub fn taps(&self, output: usize) -> Range<usize> {
        let start = output * self.stride;
        let first = self.before.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.input + self.before).saturating_sub(start).div_ceil(self.dilation).min(self.size);
        first.min(end)..end
    }

    /// The input that a tap reads; not for taps on padding.
    #[inline]
    pub fn at(&self, output: usize, tap: usize) -> usize {
        output * self.stride + tap * self.dilation - self.before
    }

    /// The outputs whose windows read an input, each with its tap.
    #[inline]
    pub fn covering(self, input: usize) -> impl Iterator<Item = (usize, usize)> {
        let padded = input + self.before;
        let extent = self.size.saturating_sub(1).saturating_mul(self.dilation);
        let first = padded.saturating_sub(extent).div_ceil(self.stride);
        let end = (padded / self.stride + 1).min(self.output);
        (first..end).filter_map(move |output| {
            let far = padded - output * self.stride;
            far.is_multiple_of(self.dilation).then_some((output, far / self.dilation))
        })
    }

    /// Whether the window is 1 with stride 1 and no padding.
    pub fn is_identity(&self) -> bool {
        self.size == 1 && self.stride == 1 && self.before == 0 && self.input == self.output
    }
}

/// A window over a batch of volumes, or of images, which have one plane ([`WindowAxis::ONE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub batch: usize,
    pub planes: WindowAxis,
    pub rows: WindowAxis,
    pub cols: WindowAxis,
}

impl Grid {
    /// Input rows of the whole batch.
    pub fn input_rows(&self) -> usize {
        self.batch * self.planes.input * self.rows.input
    }

    /// Output rows of the whole batch.
    pub fn output_rows(&self) -> usize {
        self.batch * self.planes.output * self.rows.output
    }

    /// Taps of the window.
    pub fn taps(&self) -> usize {
        self.planes.size * self.rows.size * self.cols.size
    }

    /// Volume, plane and row of an output row of the batch.
    #[inline(always)]
    fn output_row(&self, row: usize) -> [usize; 3] {
        let (plane, row) = (row / self.rows.output, row % self.rows.output);
        [plane / self.planes.output, plane % self.planes.output, row]
    }

    /// Volume, plane and row of an input row of the batch.
    #[inline(always)]
    fn input_row(&self, row: usize) -> [usize; 3] {
        let (plane, row) = (row / self.rows.input, row % self.rows.input);
        [plane / self.planes.input, plane % self.planes.input, row]
    }

    /// The input rows under the window of an output row: numbers of the whole batch.
    #[inline(always)]
    fn rows_under(&self, [volume, plane, row]: [usize; 3]) -> impl Iterator<Item = usize> {
        let (planes, rows) = (self.planes, self.rows);
        planes.taps(plane).flat_map(move |j| {
            let first = (volume * planes.input + planes.at(plane, j)) * rows.input;
            rows.taps(row).map(move |k| first + rows.at(row, k))
        })
    }

    /// The output rows whose windows read an input row: numbers of the whole batch.
    #[inline(always)]
    fn rows_over(&self, [volume, plane, row]: [usize; 3]) -> impl Iterator<Item = usize> {
        let (planes, rows) = (self.planes, self.rows);
        planes.covering(plane).flat_map(move |(out, _)| {
            let first = (volume * planes.output + out) * rows.output;
            rows.covering(row).map(move |(out, _)| first + out)
        })
    }

    /// The relative work of an output, and of an input.
    fn costs(&self) -> [usize; 2] {
        let spans = [self.planes, self.rows, self.cols];
        let over = |size: fn(&WindowAxis) -> usize| {
            spans.iter().fold(1usize, |n, s| n.saturating_mul(s.size.min(size(s))))
        };
        [over(|s| s.input), over(|s| s.output)]
    }
}

/// Grain size of the parallel loops, in elements.
const GRAIN: usize = 16 * 1024;

/// A parallel loop over rows of `width` elements. `cost` is the relative work of an element.
fn for_rows<T: Send>(
    par: &dyn Parallel,
    out: &mut [T],
    width: usize,
    cost: usize,
    body: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    if width == 0 || out.is_empty() {
        return;
    }
    let rows = out.len() / width;
    let shared = SharedMut::new(out);
    let grain = (GRAIN / width.saturating_mul(cost.max(1))).max(1);
    par.run_ranges(rows, grain, &|range| {
        for row in range {
            // SAFETY: ranges are disjoint, so their rows are too.
            body(row, unsafe { shared.range(row * width..(row + 1) * width) });
        }
    });
}

/// Computes `N` channels of one output in registers. `N` is a constant, so that loops over channels are vectorised.
trait Lanes<T> {
    /// Writes channels `first..first + N` of output column `col`.
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]);
}

/// All channels of one output row, in the widest chunks that fit.
#[inline(always)]
fn for_lanes<const FMA: bool, T, L: Lanes<T>>(what: &L, depth: usize, out: &mut [T]) {
    for (col, out) in out.chunks_exact_mut(depth).enumerate() {
        let (wide, rest) = out.as_chunks_mut::<64>();
        let first = lane_chunks::<FMA, 64, T, L>(what, col, 0, wide);
        let (middle, rest) = rest.as_chunks_mut::<16>();
        let first = lane_chunks::<FMA, 16, T, L>(what, col, first, middle);
        let (narrow, rest) = rest.as_chunks_mut::<4>();
        let first = lane_chunks::<FMA, 4, T, L>(what, col, first, narrow);
        lane_chunks::<FMA, 1, T, L>(what, col, first, rest.as_chunks_mut::<1>().0);
    }
}

/// Channels in chunks of `N`, from `first` on; returns their end.
#[inline(always)]
fn lane_chunks<const FMA: bool, const N: usize, T, L: Lanes<T>>(
    what: &L,
    col: usize,
    first: usize,
    out: &mut [[T; N]],
) -> usize {
    for (i, out) in out.iter_mut().enumerate() {
        what.lanes::<FMA, N>(col, first + i * N, out);
    }
    first + out.len() * N
}

/// `N` elements from `at` on.
#[inline(always)]
fn lane_chunk<T, const N: usize>(slice: &[T], at: usize) -> &[T; N] {
    slice[at..].first_chunk().expect("a lane_chunk inside the slice")
}

#[cfg(test)]
mod tests;
