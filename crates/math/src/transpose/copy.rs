//! The loops that move elements.

use super::plan::{Axis, Plan};
use super::tile;
use crate::parallel::Parallel;
use crate::shared::SharedMut;

/// Grain size of the parallel loops, in bytes.
const GRAIN: usize = 1 << 15;

/// Long elements, copied one at a time.
pub(super) fn runs(parallel: &dyn Parallel, plan: &Plan, input: &[u8], out: &mut [u8]) {
    let size = plan.size;
    let shared = SharedMut::new(out);
    if plan.axes.is_empty() {
        parallel.run_ranges(input.len(), GRAIN, &|range| {
            // SAFETY: the ranges are disjoint.
            unsafe { shared.range(range.clone()) }.copy_from_slice(&input[range]);
        });
        return;
    }
    parallel.run_ranges(plan.bytes / size, (GRAIN / size).max(1), &|range| {
        // SAFETY: the ranges are disjoint.
        let out = unsafe { shared.range(range.start * size..range.end * size) };
        for (index, run) in range.zip(out.chunks_exact_mut(size)) {
            let (from, _) = offsets(&plan.axes, index);
            run.copy_from_slice(&input[from * size..][..size]);
        }
    });
}

/// Elements of `SIZE` bytes, in tiles of `TILE` by `TILE` elements.
///
/// A tile reads and writes whole cache lines.
pub(super) fn elements<const SIZE: usize, const TILE: usize>(
    parallel: &dyn Parallel,
    plan: &Plan,
    input: &[u8],
    out: &mut [u8],
) {
    let (input, out) = (input.as_chunks::<SIZE>().0, SharedMut::new(out.as_chunks_mut::<SIZE>().0));
    let mut axes = plan.axes.clone();
    let inner_to = axes.pop().expect("an axis");
    let inner_from = match axes.iter().position(|axis| axis.from == 1) {
        Some(at) => axes.remove(at),
        None => Axis { len: 1, from: 1, to: inner_to.len },
    };
    let height = if inner_to.len < THIN { LONG } else { TILE };
    let (strips, blocks) = (inner_from.len.div_ceil(height), inner_to.len.div_ceil(WIDE));
    let tasks = strips * blocks * axes.iter().map(|axis| axis.len).product::<usize>();
    let grain = GRAIN.div_ceil(SIZE * WIDE.min(inner_to.len) * height.min(inner_from.len));
    parallel.run_ranges(tasks, grain, &|range| {
        for task in range {
            let (from, to) = offsets(&axes, task / strips / blocks);
            let (row, column) = (task % strips * height, task / strips % blocks * WIDE);
            let strip = Strip {
                rows: height.min(inner_from.len - row),
                columns: WIDE.min(inner_to.len - column),
                row: inner_from.to,
                column: inner_to.from,
            };
            let (from, to) = (from + row + column * inner_to.from, to + row * inner_from.to + column);
            strip.transpose::<SIZE, TILE>(&input[from..], &out, to);
        }
    });
}

/// Columns of a block. Each column is on another page of the input, and the TLB is
/// small.
const WIDE: usize = 512;

/// With fewer rows or columns than this, tiles do not pay.
const THIN: usize = 8;

/// Elements of a block of a thin strip.
const LONG: usize = 1024;

/// A range of output rows, which are input columns.
struct Strip {
    rows: usize,
    columns: usize,
    /// Leading dimension of the output.
    row: usize,
    /// Leading dimension of the input.
    column: usize,
}

impl Strip {
    fn transpose<const SIZE: usize, const TILE: usize>(
        &self,
        input: &[[u8; SIZE]],
        out: &SharedMut<[u8; SIZE]>,
        start: usize,
    ) {
        if self.columns < THIN || self.rows < THIN {
            return self.thin(input, out, start);
        }
        let mut tile = [[[0; SIZE]; TILE]; TILE];
        for first in (0..self.columns).step_by(TILE) {
            let columns = TILE.min(self.columns - first);
            let input = &input[first * self.column..];
            tile::fill(input, self.column, &mut tile, [self.rows, columns]);
            for (row, line) in tile[..self.rows].iter().enumerate() {
                let start = start + row * self.row + first;
                // SAFETY: this part of this row is in no other strip.
                unsafe { out.range(start..start + columns) }.copy_from_slice(&line[..columns]);
            }
        }
    }

    /// Few rows or few columns, without tiles.
    fn thin<const SIZE: usize>(&self, input: &[[u8; SIZE]], out: &SharedMut<[u8; SIZE]>, start: usize) {
        if self.row == self.columns {
            // SAFETY: the rows follow each other, so the strip is all of this range.
            let out = unsafe { out.range(start..start + self.rows * self.columns) };
            for column in 0..self.columns {
                let line = &input[column * self.column..][..self.rows];
                for (out, &element) in out[column..].iter_mut().step_by(self.columns).zip(line) {
                    *out = element;
                }
            }
            return;
        }
        for row in 0..self.rows {
            let start = start + row * self.row;
            // SAFETY: this part of this row is in no other strip.
            let out = unsafe { out.range(start..start + self.columns) };
            for (out, &element) in out.iter_mut().zip(input[row..].iter().step_by(self.column)) {
                *out = element;
            }
        }
    }
}

/// Offsets of the `index`-th combination of coordinates in input and output.
fn offsets(axes: &[Axis], mut index: usize) -> (usize, usize) {
    let (mut from, mut to) = (0, 0);
    for axis in axes.iter().rev() {
        let coordinate = index % axis.len;
        index /= axis.len;
        from += coordinate * axis.from;
        to += coordinate * axis.to;
    }
    (from, to)
}
