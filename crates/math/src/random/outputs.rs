//! Distributions with a parameter, where each output samples from its own range of
//! the counter.

use super::philox::Philox;
use super::state::BLOCKS_PER_OUTPUT;
use crate::parallel::Parallel;
use crate::shared::SharedMut;

/// Fills `out`, of shape `[samples, params]`, where each element is drawn by
/// `draw` from its parameter and a stream of its own.
///
/// In the stream, the samples of one parameter are contiguous.
pub(super) fn fill_each<P: Copy + Sync, T: Send>(
    parallel: &dyn Parallel,
    stream: Philox,
    params: &[P],
    out: &mut [T],
    draw: impl Fn(P, Philox) -> T + Sync,
) {
    fill_by_number(parallel, params, out, |param, output| {
        draw(param, stream.skipped(output.wrapping_mul(BLOCKS_PER_OUTPUT)))
    });
}

/// As `fill_each`, where `draw` finds its place in the stream from the number of the output.
pub(super) fn fill_by_number<P: Copy + Sync, T: Send>(
    parallel: &dyn Parallel,
    params: &[P],
    out: &mut [T],
    draw: impl Fn(P, u64) -> T + Sync,
) {
    if params.is_empty() {
        return;
    }
    let (len, samples) = (out.len(), out.len() / params.len());
    assert_eq!(len, samples * params.len());
    let out = SharedMut::new(out);
    parallel.run_ranges(len, GRAIN, &|range| {
        // SAFETY: the ranges do not overlap.
        let items = unsafe { out.range(range.clone()) };
        for (index, item) in range.zip(items) {
            let (sample, param) = (index / params.len(), index % params.len());
            let output = (param * samples + sample) as u64;
            *item = draw(params[param], output);
        }
    });
}

/// Grain size of the parallel loop, at some 50 ns per element.
const GRAIN: usize = 512;

/// Draws generated in pairs and used one by one, the last one first.
pub(super) struct Drawn {
    pair: [f64; 2],
    left: usize,
}

impl Drawn {
    pub(super) fn new() -> Self {
        Self { pair: [0.0; 2], left: 0 }
    }

    /// The next draw; `refill` makes another pair when this one is used up.
    pub(super) fn next(&mut self, refill: impl FnOnce() -> [f64; 2]) -> f64 {
        if self.left == 0 {
            self.pair = refill();
            self.left = 2;
        }
        self.left -= 1;
        self.pair[self.left]
    }
}
