//! Row reductions: the innermost, contiguous axis is reduced.

use super::pairwise::Pairwise;
use super::plan::{Inner, Plan};
use super::reducers::Reducer;
use super::{CHUNK, ENOUGH_TASKS};
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Independent accumulators: enough to hide the latency of vector additions.
const LANES: usize = 64;

/// The same for the baseline instruction set: more would spill.
const FEW_LANES: usize = 8;

/// Elements summed by the lanes before the lanes are combined.
const UNIT: usize = 64 * LANES;

/// The row reduction of an input.
struct Rows<'a, T, R> {
    plan: &'a Plan,
    split: Split,
    reducer: &'a R,
    input: &'a [T],
}

/// How the work is split; depends on the shape alone.
struct Split {
    /// Length of the contiguous axis: of a run.
    len: usize,
    /// A long run is split into several units; several short runs make one.
    units_per_run: usize,
    runs_per_unit: usize,
    units: usize,
    units_per_chunk: usize,
    chunks: usize,
    /// Whether each output is one short run, and consecutive outputs are contiguous.
    short_side_by_side: bool,
}

impl Split {
    fn new(plan: &Plan) -> Split {
        let Inner::Reduced { len } = plan.inner else { unreachable!("chosen by the caller") };
        let (units_per_run, runs_per_unit) = (len.div_ceil(UNIT), (4 * LANES / len).max(1));
        let units = units_per_run * plan.reduced.count().div_ceil(runs_per_unit);
        let units_per_chunk = CHUNK / UNIT.min(len * runs_per_unit);
        let chunks = units.div_ceil(units_per_chunk);
        let short_side_by_side = plan.input_len() == len * plan.output_len() && len < LANES;
        Split { len, units_per_run, runs_per_unit, units, units_per_chunk, chunks, short_side_by_side }
    }
}

pub(super) fn reduce<T: Copy + Sync, R: Reducer<T>>(
    parallel: &dyn Parallel,
    plan: &Plan,
    reducer: &R,
    input: &[T],
    out: &mut [R::Out],
) {
    let rows = Rows { plan, split: Split::new(plan), reducer, input };
    let (cells, chunks) = (out.len(), rows.split.chunks);
    if cells >= ENOUGH_TASKS || chunks == 1 {
        let out = SharedMut::new(out);
        let grain = (CHUNK / 2 / plan.reduced_len()).max(1);
        parallel.run_ranges(cells, grain, &|range| {
            // SAFETY: the ranges are disjoint.
            rows.whole(range.start, unsafe { out.range(range) });
        });
        return;
    }
    let mut parts = scratch::filled(cells * chunks, reducer.init());
    let shared = SharedMut::new(&mut parts);
    parallel.run_ranges(cells * chunks, 1, &|range| {
        // SAFETY: the ranges are disjoint.
        let parts = unsafe { shared.range(range.clone()) };
        widest(Parts { rows: &rows, first: range.start, parts });
    });
    rows.finish(&parts, out);
}

/// Partial results of the chunks from `first` on, as many as the slice holds.
struct Parts<'a, T, R: Reducer<T>> {
    rows: &'a Rows<'a, T, R>,
    first: usize,
    parts: &'a mut [R::Acc],
}

impl<T: Copy, R: Reducer<T>> Loop for Parts<'_, T, R> {
    type Output = ();
    const WIDE: bool = R::WIDE;

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, split) = (self.rows, &self.rows.split);
        if split.short_side_by_side {
            // Computing each offset would take longer than the reduction.
            let runs = rows.input[self.first * split.len..].chunks_exact(split.len);
            for (run, part) in runs.zip(self.parts) {
                *part = one_by_one(rows.reducer, run);
            }
            return;
        }
        for (task, part) in (self.first..).zip(self.parts) {
            *part = rows.chunk(task / split.chunks, task % split.chunks);
        }
    }
}

/// Chunks whose results are kept on the stack.
const FEW: usize = 64;

// Inlined at one call site only: this is compiled for every type, reducer and instruction set.
impl<T: Copy, R: Reducer<T>> Rows<'_, T, R> {
    /// Outputs from `first` on, each by one thread.
    fn whole(&self, first: usize, out: &mut [R::Out]) {
        let chunks = self.split.chunks;
        let mut few = [self.reducer.init(); FEW];
        let mut many: Vec<R::Acc>;
        let room = if chunks <= FEW {
            &mut few[..]
        } else {
            many = scratch::filled(chunks, self.reducer.init());
            &mut many
        };
        let at_once = room.len() / chunks;
        for (i, out) in out.chunks_mut(at_once).enumerate() {
            let parts = &mut room[..out.len() * chunks];
            widest(Parts { rows: self, first: (first + i * at_once) * chunks, parts });
            self.finish(parts, out);
        }
    }

    /// Combines the chunks of each output.
    fn finish(&self, parts: &[R::Acc], out: &mut [R::Out]) {
        if self.split.chunks == 1 {
            for (out, &part) in out.iter_mut().zip(parts) {
                *out = self.reducer.finish(part);
            }
            return;
        }
        for (out, parts) in out.iter_mut().zip(parts.chunks(self.split.chunks)) {
            let mut tree = Pairwise::new();
            for &part in parts {
                tree.push(part, |a, b| self.reducer.combine(a, b));
            }
            let whole = tree.finish(|a, b| self.reducer.combine(a, b));
            *out = self.reducer.finish(whole.unwrap_or_else(|| self.reducer.init()));
        }
    }

    #[inline(always)]
    fn chunk(&self, cell: usize, chunk: usize) -> R::Acc {
        let base = self.plan.kept.offset(cell);
        let start = chunk * self.split.units_per_chunk;
        let end = self.split.units.min(start + self.split.units_per_chunk);
        let mut tree = Pairwise::new();
        for unit in start..end {
            let part = self.unit(base, unit);
            if end - start == 1 {
                return part;
            }
            tree.push(part, |a, b| self.reducer.combine(a, b));
        }
        tree.finish(|a, b| self.reducer.combine(a, b)).unwrap_or_else(|| self.reducer.init())
    }

    /// A piece of one run, or some runs.
    #[inline(always)]
    fn unit(&self, base: usize, unit: usize) -> R::Acc {
        let split = &self.split;
        let (first, last, skipped) = if split.units_per_run > 1 {
            let run = unit / split.units_per_run;
            (run, run + 1, unit % split.units_per_run * UNIT)
        } else {
            let first = unit * split.runs_per_unit;
            (first, self.plan.reduced.count().min(first + split.runs_per_unit), 0)
        };
        let len = UNIT.min(split.len - skipped);
        let mut acc = self.reducer.init();
        for run in first..last {
            let start = base + self.plan.reduced.offset(run) + skipped;
            let elements = &self.input[start..][..len];
            let part = match R::WIDE {
                true => lanes::<T, R, LANES>(self.reducer, elements),
                false => lanes::<T, R, FEW_LANES>(self.reducer, elements),
            };
            acc = if run == first { part } else { self.reducer.combine(acc, part) };
        }
        acc
    }
}

#[inline(always)]
fn one_by_one<T: Copy, R: Reducer<T>>(reducer: &R, run: &[T]) -> R::Acc {
    run.iter().fold(reducer.init(), |acc, &x| reducer.step(acc, x))
}

#[inline(always)]
fn lanes<T: Copy, R: Reducer<T>, const N: usize>(reducer: &R, run: &[T]) -> R::Acc {
    if run.len() < N {
        return one_by_one(reducer, run);
    }
    let mut lanes = [reducer.init(); N];
    let (blocks, tail) = run.as_chunks::<N>();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = reducer.step(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(tail) {
        *lane = reducer.step(*lane, x);
    }
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = reducer.combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}
