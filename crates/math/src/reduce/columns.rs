//! Reductions whose innermost axis is kept: rows are combined element by element.

use std::ops::Range;

use super::pairwise::Pairwise;
use super::plan::{Inner, Plan};
use super::reducers::Reducer;
use super::{CHUNK, ENOUGH_TASKS};
use crate::parallel::Parallel;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Columns done together, so that their accumulators stay in the first cache.
const TILE: usize = 1024;

/// Rows summed one by one before the sums enter the tree.
const DEPTH: usize = 64;

/// Rows narrower than this are joined.
const NARROW: usize = 64;

/// How the rows of one tile of outputs are divided.
struct Columns<'a, T, R> {
    plan: &'a Plan,
    reducer: &'a R,
    input: &'a [T],
    rows: usize,
    width: usize,
    /// Tiles across the width.
    tiles: usize,
    /// A block is a number of successive rows. Many rows are several units; of
    /// small blocks, several make one unit.
    rows_per_unit: usize,
    units_per_block: usize,
    blocks_per_unit: usize,
    units: usize,
    units_per_chunk: usize,
    chunks: usize,
}

pub(super) fn reduce<T: Copy + Sync, R: Reducer<T>>(
    parallel: &dyn Parallel,
    plan: &Plan,
    reducer: &R,
    input: &[T],
    out: &mut [R::Out],
) {
    let columns = Columns::new(plan, reducer, input);
    let cells = columns.tiles * plan.kept.count();
    let shared = SharedMut::new(out);
    if cells >= ENOUGH_TASKS || columns.chunks == 1 {
        let grain = (CHUNK / 2 / (plan.reduced_len() * TILE.min(columns.width))).max(1);
        parallel.run_ranges(cells, grain, &|range| {
            for cell in range {
                // SAFETY: tiles do not overlap, and no two ranges hold the same one.
                let out = unsafe { shared.range(columns.outputs(cell)) };
                columns.finish(widest(Part { columns: &columns, cell, chunks: 0..columns.chunks }), out);
            }
        });
        return;
    }
    let mut parts = vec![Vec::new(); cells * columns.chunks];
    let shared_parts = SharedMut::new(&mut parts);
    parallel.run_ranges(cells * columns.chunks, 1, &|range| {
        // SAFETY: the ranges do not overlap.
        let parts = unsafe { shared_parts.range(range.clone()) };
        for (task, part) in range.zip(parts) {
            let (cell, chunk) = (task / columns.chunks, task % columns.chunks);
            *part = widest(Part { columns: &columns, cell, chunks: chunk..chunk + 1 });
        }
    });
    let mut parts = parts.into_iter();
    for cell in 0..cells {
        let whole = columns.combine(parts.by_ref().take(columns.chunks));
        // SAFETY: nothing else borrows the outputs here.
        columns.finish(whole, unsafe { shared.range(columns.outputs(cell)) });
    }
}

/// Some chunks of a tile, combined.
struct Part<'a, T, R> {
    columns: &'a Columns<'a, T, R>,
    cell: usize,
    chunks: Range<usize>,
}

impl<T: Copy, R: Reducer<T>> Loop for Part<'_, T, R> {
    type Output = Vec<R::Acc>;
    const WIDE: bool = R::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<R::Acc> {
        self.columns.combine(self.chunks.map(|chunk| self.columns.chunk(self.cell, chunk)))
    }
}

impl<'a, T: Copy, R: Reducer<T>> Columns<'a, T, R> {
    fn new(plan: &'a Plan, reducer: &'a R, input: &'a [T]) -> Self {
        let Inner::Kept { rows, width } = plan.inner else { unreachable!("chosen by the caller") };
        let rows_per_unit = DEPTH * (NARROW / width).max(1);
        let (units_per_block, blocks_per_unit) = (rows.div_ceil(rows_per_unit), (DEPTH / rows).max(1));
        let units = units_per_block * plan.reduced.count().div_ceil(blocks_per_unit);
        let unit_len = TILE.min(width) * rows_per_unit.min(rows * blocks_per_unit);
        let units_per_chunk = (CHUNK / unit_len).max(1);
        Self {
            plan,
            reducer,
            input,
            rows,
            width,
            tiles: width.div_ceil(TILE),
            rows_per_unit,
            units_per_block,
            blocks_per_unit,
            units,
            units_per_chunk,
            chunks: units.div_ceil(units_per_chunk),
        }
    }

    /// Which outputs a cell, that is a tile of some row of outputs, holds.
    fn outputs(&self, cell: usize) -> Range<usize> {
        let tile = self.tile(cell);
        let row = cell / self.tiles * self.width;
        row + tile.start..row + tile.end
    }

    fn tile(&self, cell: usize) -> Range<usize> {
        let start = cell % self.tiles * TILE;
        start..self.width.min(start + TILE)
    }

    fn finish(&self, whole: Vec<R::Acc>, out: &mut [R::Out]) {
        for (out, acc) in out.iter_mut().zip(whole) {
            *out = self.reducer.finish(acc);
        }
    }

    #[inline(always)]
    fn combine(&self, parts: impl Iterator<Item = Vec<R::Acc>>) -> Vec<R::Acc> {
        let combine = |mut a: Vec<R::Acc>, b: Vec<R::Acc>| {
            for (a, b) in a.iter_mut().zip(b) {
                *a = self.reducer.combine(*a, b);
            }
            a
        };
        let mut tree = Pairwise::new();
        for part in parts {
            tree.push(part, combine);
        }
        tree.finish(combine).expect("at least one part")
    }

    #[inline(always)]
    fn chunk(&self, cell: usize, chunk: usize) -> Vec<R::Acc> {
        let base = self.plan.kept.offset(cell / self.tiles);
        let start = chunk * self.units_per_chunk;
        let end = self.units.min(start + self.units_per_chunk);
        self.combine((start..end).map(|unit| self.unit(base, self.tile(cell), unit)))
    }

    #[inline(always)]
    fn unit(&self, base: usize, tile: Range<usize>, unit: usize) -> Vec<R::Acc> {
        let mut acc = vec![self.reducer.init(); tile.len()];
        if self.units_per_block > 1 {
            let (block, piece) = (unit / self.units_per_block, unit % self.units_per_block);
            let first = piece * self.rows_per_unit;
            let rows = self.rows_per_unit.min(self.rows - first);
            let start = base + self.plan.reduced.offset(block) + first * self.width;
            self.accumulate(&mut acc, start, tile, rows);
            return acc;
        }
        let first = unit * self.blocks_per_unit;
        let last = self.plan.reduced.count().min(first + self.blocks_per_unit);
        for block in first..last {
            self.accumulate(&mut acc, base + self.plan.reduced.offset(block), tile.clone(), self.rows);
        }
        acc
    }

    /// Adds successive rows, of which the first begins at `start`.
    #[inline(always)]
    fn accumulate(&self, acc: &mut [R::Acc], start: usize, tile: Range<usize>, rows: usize) {
        let block = &self.input[start..][..rows * self.width];
        if self.width < NARROW && rows > 1 {
            return narrow(self.reducer, acc, block, self.width);
        }
        for row in block.chunks_exact(self.width) {
            for (acc, &x) in acc.iter_mut().zip(&row[tile.clone()]) {
                *acc = self.reducer.step(*acc, x);
            }
        }
    }
}

/// As many rows as fit are taken as one wide row.
#[inline(always)]
fn narrow<T: Copy, R: Reducer<T>>(reducer: &R, acc: &mut [R::Acc], block: &[T], width: usize) {
    let mut lanes = [reducer.init(); NARROW];
    let lanes = &mut lanes[..NARROW / width * width];
    for wide in block.chunks(lanes.len()) {
        for (lane, &x) in lanes.iter_mut().zip(wide) {
            *lane = reducer.step(*lane, x);
        }
    }
    for row in lanes.chunks_exact(width) {
        for (acc, &lane) in acc.iter_mut().zip(row) {
            *acc = reducer.combine(*acc, lane);
        }
    }
}
