//! The categorical distribution over logits.

use super::philox::{BLOCK, Philox, Words};
use super::real::unit_f64;
use super::state::BLOCKS_PER_OUTPUT;
use crate::elementary::scalar::exp_f64;
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Words consumed by one draw.
const WORDS: usize = 2;

/// Blocks that an execution of `Multinomial` reserves.
pub fn categorical_blocks(rows: u64, samples: u64) -> u64 {
    rows * samples.next_multiple_of(4) * WORDS as u64 * BLOCKS_PER_OUTPUT
}

/// Fills `out`, of shape `[rows, samples]`, with classes sampled from the rows of
/// `logits`, of shape `[rows, classes]`. Classes whose logits are not finite are never
/// drawn.
///
/// The draws are those of TensorFlow when one thread does all rows; with more,
/// TensorFlow's depend on how it splits them.
pub fn categorical<T: Copy + Sync + Into<f64>>(
    parallel: &dyn Parallel,
    stream: Philox,
    logits: &[T],
    classes: usize,
    samples: usize,
    out: &mut [i64],
) {
    let rows = logits.len() / classes;
    assert_eq!((logits.len(), out.len()), (rows * classes, rows * samples));
    let out = SharedMut::new(out);
    let grain = (1 << 14) / (classes + 4 * samples) + 1;
    parallel.run_ranges(rows, grain, &|range| {
        let mut cumulative = scratch::with_capacity(classes);
        let mut words = words_from(stream, range.start * samples * WORDS);
        for row in range {
            accumulate(&logits[row * classes..][..classes], &mut cumulative);
            // SAFETY: rows are disjoint, and each is in one range only.
            let out = unsafe { out.range(row * samples..(row + 1) * samples) };
            let total = cumulative.last().copied().unwrap_or(0.0);
            for class in out {
                let (high, low) = (words.next_word(), words.next_word());
                let target = unit_f64(high, low) * total;
                *class = cumulative.partition_point(|&sum| sum <= target) as i64;
            }
        }
    });
}

fn words_from(stream: Philox, word: usize) -> Words {
    let mut words = Words::new(stream.skipped((word / BLOCK) as u64));
    for _ in 0..word % BLOCK {
        words.next_word();
    }
    words
}

/// The cumulative distribution: running sums of the exponentials, scaled so that none overflows.
fn accumulate<T: Copy + Into<f64>>(logits: &[T], cumulative: &mut Vec<f64>) {
    let finite = |&logit: &T| Some(logit.into()).filter(|x: &f64| x.is_finite());
    let max = logits.iter().filter_map(finite).fold(f64::MIN, f64::max);
    cumulative.clear();
    // The exponential of minus infinity is 0.
    cumulative.extend(logits.iter().map(|logit| finite(logit).map_or(f64::NEG_INFINITY, |x| x - max)));
    widest(Exponentials(cumulative));
    let mut sum = 0.0;
    for x in cumulative {
        sum += *x;
        *x = sum;
    }
}

struct Exponentials<'a>(&'a mut [f64]);

impl Loop for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.0.iter_mut().for_each(|x| *x = exp_f64::<FMA>(*x));
    }
}
