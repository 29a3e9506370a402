//! Scans: cumulative sums and products along an axis.

use super::reducers::Reducer;
use crate::parallel::Parallel;
use crate::shared::SharedMut;

/// Columns of a tile.
const TILE: usize = 256;

/// Options of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    /// Each output excludes its own element; the first is the identity.
    pub exclusive: bool,
    /// From the last element to the first.
    pub reverse: bool,
}

/// For an array of shape `[outer, len, inner]`, the prefix reductions along the
/// middle axis.
pub fn scan<T: Copy + Sync, R: Reducer<T>>(
    parallel: &dyn Parallel,
    how: Scan,
    reducer: &R,
    [outer, len, inner]: [usize; 3],
    input: &[T],
    out: &mut [R::Out],
) {
    assert_eq!((input.len(), out.len()), (outer * len * inner, outer * len * inner));
    if input.is_empty() {
        return;
    }
    let tiles = inner.div_ceil(TILE);
    let grain = ((1 << 14) / (len * TILE.min(inner))).max(1);
    let shared = SharedMut::new(out);
    parallel.run_ranges(outer * tiles, grain, &|range| {
        for task in range {
            let (block, column) = (task / tiles * len * inner, task % tiles * TILE);
            if inner == 1 {
                // SAFETY: each task has a block of its own.
                let out = unsafe { shared.range(block..block + len) };
                scan_run(reducer, how, &input[block..][..len], out);
                continue;
            }
            let width = TILE.min(inner - column);
            let mut accs = [reducer.init(); TILE];
            for step in 0..len {
                let index = if how.reverse { len - 1 - step } else { step };
                let start = block + index * inner + column;
                // SAFETY: no two tasks hold the same columns of the same block.
                let out = unsafe { shared.range(start..start + width) };
                scan_row(reducer, how.exclusive, &mut accs[..width], &input[start..][..width], out);
            }
        }
    });
}

fn scan_run<T: Copy, R: Reducer<T>>(reducer: &R, how: Scan, input: &[T], out: &mut [R::Out]) {
    let mut acc = reducer.init();
    let step = |(&x, out): (&T, &mut R::Out)| {
        let next = reducer.step(acc, x);
        *out = reducer.finish(if how.exclusive { acc } else { next });
        acc = next;
    };
    let pairs = input.iter().zip(out);
    if how.reverse { pairs.rev().for_each(step) } else { pairs.for_each(step) }
}

#[inline(always)]
fn scan_row<T: Copy, R: Reducer<T>>(
    reducer: &R,
    exclusive: bool,
    accs: &mut [R::Acc],
    input: &[T],
    out: &mut [R::Out],
) {
    for ((acc, &x), out) in accs.iter_mut().zip(input).zip(out) {
        let next = reducer.step(*acc, x);
        *out = reducer.finish(if exclusive { *acc } else { next });
        *acc = next;
    }
}
