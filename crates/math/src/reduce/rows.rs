//! Reductions whose innermost axis is reduced: runs of neighbours become one.

use std::ops::Range;

use super::pairwise::Pairwise;
use super::plan::{Inner, Plan};
use super::reducers::Reducer;
use super::{CHUNK, ENOUGH_TASKS};
use crate::parallel::Parallel;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Accumulators side by side: enough to hide the latency of wide additions.
const LANES: usize = 64;

/// Elements summed by the lanes before the lanes are combined.
const UNIT: usize = 64 * LANES;

/// How the elements of one output are divided.
struct Rows<'a, T, R> {
    plan: &'a Plan,
    reducer: &'a R,
    input: &'a [T],
    /// Length of a run.
    len: usize,
    /// A long run is several units; of short runs, several make one.
    units_per_run: usize,
    runs_per_unit: usize,
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
    let rows = Rows::new(plan, reducer, input);
    let cells = out.len();
    if cells >= ENOUGH_TASKS || rows.chunks == 1 {
        let out = SharedMut::new(out);
        let grain = (CHUNK / 2 / plan.reduced_len()).max(1);
        parallel.run_ranges(cells, grain, &|range| {
            // SAFETY: the ranges do not overlap.
            let out = unsafe { out.range(range.clone()) };
            widest(Cells { rows: &rows, range, out });
        });
        return;
    }
    let mut parts = vec![reducer.init(); cells * rows.chunks];
    let shared = SharedMut::new(&mut parts);
    parallel.run_ranges(cells * rows.chunks, 1, &|range| {
        // SAFETY: the ranges do not overlap.
        let parts = unsafe { shared.range(range.clone()) };
        widest(Chunks { rows: &rows, range, parts });
    });
    for (out, parts) in out.iter_mut().zip(parts.chunks(rows.chunks)) {
        *out = reducer.finish(rows.combine(parts.iter().copied()));
    }
}

/// Whole outputs.
struct Cells<'a, T, R: Reducer<T>> {
    rows: &'a Rows<'a, T, R>,
    range: Range<usize>,
    out: &'a mut [R::Out],
}

impl<T: Copy, R: Reducer<T>> Loop for Cells<'_, T, R> {
    type Output = ();
    const WIDE: bool = R::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = self.rows;
        if rows.input.len() == rows.len * rows.plan.output_len() && rows.len < LANES {
            // Short runs side by side: finding each would take longer than reducing it.
            let runs = rows.input[self.range.start * rows.len..].chunks_exact(rows.len);
            for (run, out) in runs.zip(self.out) {
                *out = rows.reducer.finish(lanes(rows.reducer, run));
            }
            return;
        }
        for (cell, out) in self.range.zip(self.out) {
            let whole = match rows.chunks {
                1 => rows.chunk(cell, 0),
                chunks => rows.combine((0..chunks).map(|chunk| rows.chunk(cell, chunk))),
            };
            *out = rows.reducer.finish(whole);
        }
    }
}

/// Parts of outputs.
struct Chunks<'a, T, R: Reducer<T>> {
    rows: &'a Rows<'a, T, R>,
    range: Range<usize>,
    parts: &'a mut [R::Acc],
}

impl<T: Copy, R: Reducer<T>> Loop for Chunks<'_, T, R> {
    type Output = ();
    const WIDE: bool = R::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let chunks = self.rows.chunks;
        for (task, part) in self.range.zip(self.parts) {
            *part = self.rows.chunk(task / chunks, task % chunks);
        }
    }
}

impl<'a, T: Copy, R: Reducer<T>> Rows<'a, T, R> {
    fn new(plan: &'a Plan, reducer: &'a R, input: &'a [T]) -> Self {
        let Inner::Reduced { len } = plan.inner else { unreachable!("chosen by the caller") };
        let (units_per_run, runs_per_unit) = (len.div_ceil(UNIT), (4 * LANES / len).max(1));
        let units = units_per_run * plan.reduced.count().div_ceil(runs_per_unit);
        let units_per_chunk = CHUNK / UNIT.min(len * runs_per_unit);
        let chunks = units.div_ceil(units_per_chunk);
        Self { plan, reducer, input, len, units_per_run, runs_per_unit, units, units_per_chunk, chunks }
    }

    #[inline(always)]
    fn combine(&self, parts: impl Iterator<Item = R::Acc>) -> R::Acc {
        let combine = |a, b| self.reducer.combine(a, b);
        let mut tree = Pairwise::new();
        for part in parts {
            tree.push(part, combine);
        }
        tree.finish(combine).unwrap_or_else(|| self.reducer.init())
    }

    #[inline(always)]
    fn chunk(&self, cell: usize, chunk: usize) -> R::Acc {
        let base = self.plan.kept.offset(cell);
        let start = chunk * self.units_per_chunk;
        let end = self.units.min(start + self.units_per_chunk);
        if end - start == 1 {
            return self.unit(base, start);
        }
        self.combine((start..end).map(|unit| self.unit(base, unit)))
    }

    #[inline(always)]
    fn unit(&self, base: usize, unit: usize) -> R::Acc {
        if self.units_per_run > 1 {
            let (run, piece) = (unit / self.units_per_run, unit % self.units_per_run);
            let start = base + self.plan.reduced.offset(run) + piece * UNIT;
            return lanes(self.reducer, &self.input[start..][..UNIT.min(self.len - piece * UNIT)]);
        }
        let first = unit * self.runs_per_unit;
        let last = self.plan.reduced.count().min(first + self.runs_per_unit);
        let mut acc = self.reducer.init();
        for run in first..last {
            let start = base + self.plan.reduced.offset(run);
            let part = lanes(self.reducer, &self.input[start..][..self.len]);
            acc = if run == first { part } else { self.reducer.combine(acc, part) };
        }
        acc
    }
}

#[inline(always)]
fn lanes<T: Copy, R: Reducer<T>>(reducer: &R, run: &[T]) -> R::Acc {
    if run.len() < LANES {
        return run.iter().fold(reducer.init(), |acc, &x| reducer.step(acc, x));
    }
    let mut lanes = [reducer.init(); LANES];
    let (blocks, tail) = run.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = reducer.step(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(tail) {
        *lane = reducer.step(*lane, x);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = reducer.combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}
