//! Windows that slide over images: patches, poolings, and convolutions of each channel by itself.
//!
//! Images lie with the channels innermost: batch, rows, columns, channels. A [`Span`] says where a window goes along one
//! dimension; a [`Grid`] is a batch of images with a window over rows and columns. All work is divided by rows of images,
//! and each sum is made in an order that the shapes alone decide, so that results do not depend on the number of threads.

mod average;
mod depthwise;
mod largest;
mod padded;
mod patches;

pub use average::{average, average_gradient};
pub use depthwise::{Depthwise, Fused};
pub use largest::{Place, largest, largest_places, sum_at_places};
pub use patches::{Patches, add_patches};

use crate::parallel::Parallel;
use crate::shared::SharedMut;
use std::ops::Range;

/// A window along one dimension: at place `o` its tap `k` is on position `o * stride + k * dilation - before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Positions there are.
    pub input: usize,
    /// Places of the window.
    pub output: usize,
    /// Taps of the window.
    pub size: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Padding before the first position.
    pub before: usize,
}

impl Span {
    /// The taps of the window at a place that are on positions, not on padding.
    #[inline]
    pub fn taps(&self, place: usize) -> Range<usize> {
        let start = place * self.stride;
        let first = self.before.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.input + self.before).saturating_sub(start).div_ceil(self.dilation).min(self.size);
        first.min(end)..end
    }

    /// Where a tap is that is not on padding.
    #[inline]
    pub fn at(&self, place: usize, tap: usize) -> usize {
        place * self.stride + tap * self.dilation - self.before
    }

    /// The places whose windows have a tap on a position, and that tap.
    #[inline]
    pub fn covering(self, position: usize) -> impl Iterator<Item = (usize, usize)> {
        let padded = position + self.before;
        let reach = self.size.saturating_sub(1).saturating_mul(self.dilation);
        let first = padded.saturating_sub(reach).div_ceil(self.stride);
        let end = (padded / self.stride + 1).min(self.output);
        (first..end).filter_map(move |place| {
            let far = padded - place * self.stride;
            far.is_multiple_of(self.dilation).then_some((place, far / self.dilation))
        })
    }

    /// The window is one position, and goes to each.
    pub fn is_identity(&self) -> bool {
        self.size == 1 && self.stride == 1 && self.before == 0 && self.input == self.output
    }
}

/// A window over the rows and columns of a batch of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub batch: usize,
    pub rows: Span,
    pub cols: Span,
}

impl Grid {
    /// Rows of all images.
    pub fn input_rows(&self) -> usize {
        self.batch * self.rows.input
    }

    /// Rows of places, of all images.
    pub fn output_rows(&self) -> usize {
        self.batch * self.rows.output
    }

    /// Taps of the window.
    pub fn taps(&self) -> usize {
        self.rows.size * self.cols.size
    }
}

/// Elements that are worth a thread's attention at a time.
const GRAIN: usize = 16 * 1024;

/// Calls `body` for each row of `width` elements, over threads. `cost` is how much work an element is.
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
            // SAFETY: ranges do not overlap, so neither do their rows.
            body(row, unsafe { shared.range(row * width..(row + 1) * width) });
        }
    });
}

/// Some channels of what is under the window at one place: computed together, in registers. The number of channels is a
/// constant, so that loops over them become vector instructions.
trait Lanes<T> {
    /// Writes `N` channels from `first` on of the result at column `col`.
    fn lanes<const FMA: bool, const N: usize>(&self, col: usize, first: usize, out: &mut [T; N]);
}

/// All channels of one row of results, in as large pieces as there are.
#[inline(always)]
fn for_lanes<const FMA: bool, T, L: Lanes<T>>(what: &L, depth: usize, out: &mut [T]) {
    for (col, out) in out.chunks_exact_mut(depth).enumerate() {
        let (wide, rest) = out.as_chunks_mut::<64>();
        let first = pieces::<FMA, 64, T, L>(what, col, 0, wide);
        let (middle, rest) = rest.as_chunks_mut::<16>();
        let first = pieces::<FMA, 16, T, L>(what, col, first, middle);
        let (narrow, rest) = rest.as_chunks_mut::<4>();
        let first = pieces::<FMA, 4, T, L>(what, col, first, narrow);
        pieces::<FMA, 1, T, L>(what, col, first, rest.as_chunks_mut::<1>().0);
    }
}

/// Channels in pieces of `N`, from `first` on; where they end.
#[inline(always)]
fn pieces<const FMA: bool, const N: usize, T, L: Lanes<T>>(
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
fn piece<T, const N: usize>(slice: &[T], at: usize) -> &[T; N] {
    slice[at..].first_chunk().expect("a piece inside the slice")
}

#[cfg(test)]
mod tests;
