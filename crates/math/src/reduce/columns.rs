//! Column reductions: the innermost axis is kept, and rows are combined elementwise.

use std::ops::Range;

use super::pairwise::Pairwise;
use super::plan::{Inner, Plan};
use super::reducers::Reducer;
use super::{CHUNK, ENOUGH_TASKS};
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Columns of a tile: their accumulators stay in L1.
const TILE: usize = 1024;

/// Rows summed sequentially before the sum enters the pairwise tree.
const DEPTH: usize = 64;

/// Rows narrower than this are processed several at a time.
const NARROW: usize = 64;

/// The column reduction of an input.
struct Columns<'a, T, R> {
    plan: &'a Plan,
    split: Split,
    reducer: &'a R,
    input: &'a [T],
}

/// How the work is split; depends on the shape alone.
struct Split {
    rows: usize,
    width: usize,
    /// Tiles across the width.
    tiles: usize,
    /// A block is a number of consecutive rows. A large block is split into several units; several
    /// small blocks make one unit.
    rows_per_unit: usize,
    units_per_block: usize,
    blocks_per_unit: usize,
    units: usize,
    units_per_chunk: usize,
    chunks: usize,
}

impl Split {
    fn new(plan: &Plan) -> Split {
        let Inner::Kept { rows, width } = plan.inner else { unreachable!("chosen by the caller") };
        let rows_per_unit = DEPTH * (NARROW / width).max(1);
        let (units_per_block, blocks_per_unit) = (rows.div_ceil(rows_per_unit), (DEPTH / rows).max(1));
        let units = units_per_block * plan.reduced.count().div_ceil(blocks_per_unit);
        let unit_len = TILE.min(width) * rows_per_unit.min(rows * blocks_per_unit);
        let units_per_chunk = (CHUNK / unit_len).max(1);
        Split {
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

    /// The outputs of a cell, which is a tile of one output row.
    fn outputs(&self, cell: usize) -> Range<usize> {
        let tile = self.tile(cell);
        let row = cell / self.tiles * self.width;
        row + tile.start..row + tile.end
    }

    fn tile(&self, cell: usize) -> Range<usize> {
        let start = cell % self.tiles * TILE;
        start..self.width.min(start + TILE)
    }
}

pub(super) fn reduce<T: Copy + Sync, R: Reducer<T>>(
    parallel: &dyn Parallel,
    plan: &Plan,
    reducer: &R,
    input: &[T],
    out: &mut [R::Out],
) {
    let columns = Columns { plan, split: Split::new(plan), reducer, input };
    let split = &columns.split;
    let cells = split.tiles * plan.kept.count();
    let shared = SharedMut::new(out);
    if cells >= ENOUGH_TASKS || split.chunks == 1 {
        let grain = (CHUNK / 2 / (plan.reduced_len() * TILE.min(split.width))).max(1);
        parallel.run_ranges(cells, grain, &|range| {
            for cell in range {
                let mut chunks = (0..split.chunks).map(|chunk| columns.chunk(cell, chunk));
                // SAFETY: tiles are disjoint, and each is in one range only.
                columns.finish(&mut chunks, unsafe { shared.range(split.outputs(cell)) });
            }
        });
        return;
    }
    let mut parts = scratch::filled(cells * split.chunks, Vec::new());
    let shared_parts = SharedMut::new(&mut parts);
    parallel.run_ranges(cells * split.chunks, 1, &|range| {
        // SAFETY: the ranges are disjoint.
        let parts = unsafe { shared_parts.range(range.clone()) };
        for (task, part) in range.zip(parts) {
            *part = columns.chunk(task / split.chunks, task % split.chunks);
        }
    });
    let mut parts = parts.into_iter();
    for cell in 0..cells {
        // SAFETY: nothing else borrows the outputs here.
        let out = unsafe { shared.range(split.outputs(cell)) };
        columns.finish(&mut parts.by_ref().take(split.chunks), out);
    }
}

impl<T: Copy, R: Reducer<T>> Columns<'_, T, R> {
    fn finish(&self, chunks: &mut dyn Iterator<Item = Vec<R::Acc>>, out: &mut [R::Out]) {
        for (out, acc) in out.iter_mut().zip(self.combine(chunks)) {
            *out = self.reducer.finish(acc);
        }
    }

    /// Not instantiated per instruction set: its cost is small beside that of adding rows.
    fn combine(&self, parts: &mut dyn Iterator<Item = Vec<R::Acc>>) -> Vec<R::Acc> {
        let combine = |a: Vec<R::Acc>, b: Vec<R::Acc>| self.combine_two(a, &b);
        let mut tree = Pairwise::new();
        for part in parts {
            tree.push(part, combine);
        }
        tree.finish(combine).unwrap_or_default()
    }

    #[inline(never)]
    fn combine_two(&self, mut a: Vec<R::Acc>, b: &[R::Acc]) -> Vec<R::Acc> {
        for (a, &b) in a.iter_mut().zip(b) {
            *a = self.reducer.combine(*a, b);
        }
        a
    }

    fn chunk(&self, cell: usize, chunk: usize) -> Vec<R::Acc> {
        let base = self.plan.kept.offset(cell / self.split.tiles);
        let start = chunk * self.split.units_per_chunk;
        let end = self.split.units.min(start + self.split.units_per_chunk);
        let unit = |unit| widest(Unit { columns: self, base, tile: self.split.tile(cell), unit });
        self.combine(&mut (start..end).map(unit))
    }
}

/// One unit of a tile.
struct Unit<'a, T, R> {
    columns: &'a Columns<'a, T, R>,
    base: usize,
    tile: Range<usize>,
    unit: usize,
}

impl<T: Copy, R: Reducer<T>> Loop for Unit<'_, T, R> {
    type Output = Vec<R::Acc>;
    const WIDE: bool = R::WIDE;

    /// A piece of one block, or some blocks.
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<R::Acc> {
        let (columns, split) = (self.columns, &self.columns.split);
        let mut acc = scratch::filled(self.tile.len(), columns.reducer.init());
        let (first, last, skipped) = if split.units_per_block > 1 {
            let block = self.unit / split.units_per_block;
            (block, block + 1, self.unit % split.units_per_block * split.rows_per_unit)
        } else {
            let first = self.unit * split.blocks_per_unit;
            (first, columns.plan.reduced.count().min(first + split.blocks_per_unit), 0)
        };
        let rows = split.rows_per_unit.min(split.rows - skipped);
        for block in first..last {
            let start = self.base + columns.plan.reduced.offset(block) + skipped * split.width;
            let block = &columns.input[start..][..rows * split.width];
            accumulate(columns.reducer, &mut acc, block, split.width, &self.tile);
        }
        acc
    }
}

/// Adds consecutive rows.
#[inline(always)]
fn accumulate<T: Copy, R: Reducer<T>>(
    reducer: &R,
    acc: &mut [R::Acc],
    block: &[T],
    width: usize,
    tile: &Range<usize>,
) {
    if width < NARROW && block.len() > width {
        return narrow(reducer, acc, block, width);
    }
    for row in block.chunks_exact(width) {
        for (acc, &x) in acc.iter_mut().zip(&row[tile.clone()]) {
            *acc = reducer.step(*acc, x);
        }
    }
}

/// Takes as many rows as fit as one wide row.
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
