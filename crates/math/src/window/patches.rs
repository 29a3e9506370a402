//! The elements under a window laid out as rows of a matrix, and the reverse: rows added back to where they came from.

use std::ops::Range;

use super::{Grid, for_rows};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// The patches of some channels of a batch of images: a row for each place, in it the taps by row and column, in each the channels.
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    pub grid: Grid,
    /// Channels that the images have, and which of them are meant.
    pub depth: usize,
    pub first_channel: usize,
    pub channels: usize,
}

impl Patches {
    /// Elements of one patch.
    pub fn len(&self) -> usize {
        self.grid.taps() * self.channels
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the patches of all places are the images as they lie.
    pub fn is_identity(&self) -> bool {
        self.grid.rows.is_identity() && self.grid.cols.is_identity() && self.channels == self.depth
    }

    /// Writes the patches of some rows of places, counted over all images. Padding is `T::default()`.
    pub fn write<T: Copy + Default + Send + Sync>(
        &self,
        par: &dyn Parallel,
        images: &[T],
        rows: Range<usize>,
        out: &mut [T],
    ) {
        let width = self.grid.cols.output * self.len();
        assert_eq!(images.len(), self.grid.input_rows() * self.grid.cols.input * self.depth);
        assert_eq!(out.len(), rows.len() * width);
        for_rows(par, out, width, 1, &|row, out| self.write_row(images, rows.start + row, out));
    }

    fn write_row<T: Copy + Default>(&self, images: &[T], row: usize, out: &mut [T]) {
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        let (image, place) = (row / rows.output, row % rows.output);
        let inside = rows.taps(place);
        let line = cols.size * self.channels;
        for (col, patch) in out.chunks_exact_mut(self.len()).enumerate() {
            let taps = cols.taps(col);
            for (k, out) in patch.chunks_exact_mut(line).enumerate() {
                if !inside.contains(&k) || taps.is_empty() {
                    out.fill(T::default());
                    continue;
                }
                let from = (image * rows.input + rows.at(place, k)) * cols.input;
                out[..taps.start * self.channels].fill(T::default());
                out[taps.end * self.channels..].fill(T::default());
                let out = &mut out[taps.start * self.channels..taps.end * self.channels];
                if self.channels == self.depth && cols.dilation == 1 {
                    out.copy_from_slice(
                        &images[(from + cols.at(col, taps.start)) * self.depth..][..out.len()],
                    );
                    continue;
                }
                for (k, out) in taps.clone().zip(out.chunks_exact_mut(self.channels)) {
                    let at = (from + cols.at(col, k)) * self.depth + self.first_channel;
                    out.copy_from_slice(&images[at..][..self.channels]);
                }
            }
        }
    }

    /// The rows of images that patches of these rows of places touch; several images are taken whole.
    fn touched(&self, rows: &Range<usize>) -> Range<usize> {
        let span = &self.grid.rows;
        let (first, last) = (rows.start / span.output, (rows.end - 1) / span.output);
        if first != last {
            return first * span.input..(last + 1) * span.input;
        }
        let reach = (span.size - 1) * span.dilation + 1;
        let start = (rows.start % span.output * span.stride).saturating_sub(span.before);
        let end = ((rows.end - 1) % span.output * span.stride + reach).saturating_sub(span.before);
        first * span.input + start.min(span.input)..first * span.input + end.min(span.input)
    }
}

/// Adds patches of some rows of places, as [`Patches::write`] lays them out, to the images they are of.
pub fn add_patches<T: Number>(
    par: &dyn Parallel,
    what: &Patches,
    patches: &[T],
    rows: Range<usize>,
    images: &mut [T],
) {
    let grid = &what.grid;
    assert_eq!(images.len(), grid.input_rows() * grid.cols.input * what.depth);
    assert_eq!(patches.len(), rows.len() * grid.cols.output * what.len());
    if patches.is_empty() {
        return;
    }
    let (touched, width) = (what.touched(&rows), grid.cols.input * what.depth);
    let shared = SharedMut::new(images);
    par.run_ranges(touched.len(), 1, &|range| {
        for row in range.start + touched.start..range.end + touched.start {
            // SAFETY: each row is in one range only.
            let out = unsafe { shared.range(row * width..(row + 1) * width) };
            widest(AddRow { what, patches, rows: rows.clone(), row, out });
        }
    });
}

/// One row of an image gets what the patches have for it.
struct AddRow<'a, T> {
    what: &'a Patches,
    patches: &'a [T],
    rows: Range<usize>,
    row: usize,
    out: &'a mut [T],
}

impl<T: Number> Loop for AddRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (what, cols) = (self.what, &self.what.grid.cols);
        let (image, line) = (self.row / what.grid.rows.input, cols.size * what.channels);
        for (place, k) in what.grid.rows.covering(self.row % what.grid.rows.input) {
            let place = image * what.grid.rows.output + place;
            if !self.rows.contains(&place) {
                continue;
            }
            for col in 0..cols.output {
                let taps = cols.taps(col);
                if taps.is_empty() {
                    continue;
                }
                let patch = ((place - self.rows.start) * cols.output + col) * what.len() + k * line;
                let from =
                    &self.patches[patch + taps.start * what.channels..patch + taps.end * what.channels];
                if what.channels == what.depth && cols.dilation == 1 {
                    add(&mut self.out[cols.at(col, taps.start) * what.depth..], from);
                    continue;
                }
                for (k, from) in taps.zip(from.chunks_exact(what.channels)) {
                    add(&mut self.out[cols.at(col, k) * what.depth + what.first_channel..], from);
                }
            }
        }
    }
}

#[inline(always)]
fn add<T: Number>(out: &mut [T], from: &[T]) {
    for (out, x) in out.iter_mut().zip(from) {
        *out = out.add(*x);
    }
}
