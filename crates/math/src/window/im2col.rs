//! im2col: the patches of images as the rows of a matrix; and col2im, its transpose, which adds them back.

use std::ops::Range;

use super::{Grid, WindowAxis, for_rows};
use crate::parallel::Parallel;
use crate::reduce::Number;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// The im2col matrix of a range of channels: a row for each output, of elements [filter plane, filter row, filter column, channel].
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    pub grid: Grid,
    /// Channels of the images, and the range of them.
    pub depth: usize,
    pub first_channel: usize,
    pub channels: usize,
}

impl Patches {
    /// Elements of one patch: columns of the matrix.
    pub fn len(&self) -> usize {
        self.grid.taps() * self.channels
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the matrix is the images themselves, so that no copy is needed.
    pub fn is_identity(&self) -> bool {
        let spans = [self.grid.planes, self.grid.rows, self.grid.cols];
        spans.iter().all(WindowAxis::is_identity) && self.channels == self.depth
    }

    /// Writes the patches of some output rows of the batch. Padding is `T::default()`.
    pub fn im2col<T: Copy + Default + Send + Sync>(
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
        let (planes, rows, cols) = (&self.grid.planes, &self.grid.rows, &self.grid.cols);
        let [volume, out_plane, out_row] = self.grid.output_row(row);
        let (deep, inside) = (planes.taps(out_plane), rows.taps(out_row));
        let line = cols.size * self.channels;
        for (col, patch) in out.chunks_exact_mut(self.len()).enumerate() {
            let taps = cols.taps(col);
            for (k, out) in patch.chunks_exact_mut(line).enumerate() {
                let (j, k) = (k / rows.size, k % rows.size);
                if !deep.contains(&j) || !inside.contains(&k) || taps.is_empty() {
                    out.fill(T::default());
                    continue;
                }
                let plane = volume * planes.input + planes.at(out_plane, j);
                let from = (plane * rows.input + rows.at(out_row, k)) * cols.input;
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

    /// The input rows that the patches of these output rows read; all rows of the images or volumes, if those are several.
    fn input_rows(&self, rows: &Range<usize>) -> Range<usize> {
        let (planes, span) = (&self.grid.planes, &self.grid.rows);
        let (first, last) = (rows.start / span.output, (rows.end - 1) / span.output);
        if !planes.is_identity() || planes.input != 1 {
            let (first, last) = (first / planes.output, last / planes.output);
            let volume = planes.input * span.input;
            return first * volume..(last + 1) * volume;
        }
        if first != last {
            return first * span.input..(last + 1) * span.input;
        }
        let reach = (span.size - 1) * span.dilation + 1;
        let start = (rows.start % span.output * span.stride).saturating_sub(span.before);
        let end = ((rows.end - 1) % span.output * span.stride + reach).saturating_sub(span.before);
        first * span.input + start.min(span.input)..first * span.input + end.min(span.input)
    }
}

/// Adds the patches of some output rows, as [`Patches::im2col`] writes them, to the images.
pub fn col2im<T: Number>(
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
    let (input_rows, width) = (what.input_rows(&rows), grid.cols.input * what.depth);
    let shared = SharedMut::new(images);
    par.run_ranges(input_rows.len(), 1, &|range| {
        for row in range.start + input_rows.start..range.end + input_rows.start {
            // SAFETY: each row is in one range only.
            let out = unsafe { shared.range(row * width..(row + 1) * width) };
            widest(Col2imRow { what, patches, rows: rows.clone(), row, out });
        }
    });
}

/// Adds the patches' elements of one input row.
struct Col2imRow<'a, T> {
    what: &'a Patches,
    patches: &'a [T],
    rows: Range<usize>,
    row: usize,
    out: &'a mut [T],
}

impl<T: Number> Loop for Col2imRow<'_, T> {
    type Output = ();
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (what, planes, rows, cols) =
            (self.what, self.what.grid.planes, self.what.grid.rows, self.what.grid.cols);
        let ([volume, plane, row], line) = (what.grid.input_row(self.row), cols.size * what.channels);
        let over = planes.covering(plane).flat_map(|(out, j)| {
            let first = (volume * planes.output + out) * rows.output;
            rows.covering(row).map(move |(out, k)| (first + out, j * rows.size + k))
        });
        for (out_row, k) in over {
            if !self.rows.contains(&out_row) {
                continue;
            }
            for col in 0..cols.output {
                let taps = cols.taps(col);
                if taps.is_empty() {
                    continue;
                }
                let patch = ((out_row - self.rows.start) * cols.output + col) * what.len() + k * line;
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
