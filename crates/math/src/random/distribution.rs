//! Distributions: how blocks of a stream become numbers.
//!
//! Output is made in groups of fixed size, and where group `n` starts in the
//! stream depends on `n` alone. So a tensor may be filled in any order, by any
//! number of threads, with the same result.

use std::marker::PhantomData;
use std::ops::Range;

use super::philox::{BLOCK, Philox, Words};
use super::real::Real;
use super::state::BLOCKS_PER_OUTPUT;
use crate::parallel::Parallel;
use crate::shared::SharedMut;

/// A way to turn a stream into numbers.
pub trait Distribution: Sync {
    type Item: Copy + Default + Send + Sync;

    /// Items in a group.
    const GROUP: usize;

    /// Rough cost of an item in nanoseconds, to decide when to use threads.
    const COST: usize;

    /// Fills `out` with the groups from `start` on; the last may be cut short.
    fn fill(&self, stream: Philox, start: u64, out: &mut [Self::Item]);
}

/// Fills `out` from the start of the stream, with all threads.
pub fn fill<D: Distribution>(parallel: &dyn Parallel, dist: &D, stream: Philox, out: &mut [D::Item]) {
    let len = out.len();
    let grain = (GRAIN_NANOSECONDS / (D::COST * D::GROUP)).max(1);
    let out = SharedMut::new(out);
    parallel.run_ranges(len.div_ceil(D::GROUP), grain, &|groups: Range<usize>| {
        let items = groups.start * D::GROUP..len.min(groups.end * D::GROUP);
        // SAFETY: ranges of groups do not overlap, so neither do their items.
        dist.fill(stream, groups.start as u64, unsafe { out.range(items) });
    });
}

/// Work worth handing to another thread.
const GRAIN_NANOSECONDS: usize = 20_000;

/// Uniform in [0, 1).
pub struct Uniform<T>(PhantomData<T>);

/// Standard normal.
pub struct Normal<T>(PhantomData<T>);

/// Standard normal, with what lies two or more from zero drawn again.
pub struct TruncatedNormal<T>(PhantomData<T>);

/// Uniform over all values of an integer type.
pub struct FullInt<T>(PhantomData<T>);

/// Uniform over `low..high`, which must not be empty. The slight bias towards
/// low values of a plain remainder is TensorFlow's.
pub struct UniformInt<T> {
    pub low: T,
    pub high: T,
}

impl<T> Default for Uniform<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Normal<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for TruncatedNormal<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for FullInt<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Real> Distribution for Uniform<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 1;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        map_words(stream.skipped(start), T::WORDS, out, |words, items| {
            for (item, words) in items.iter_mut().zip(words.chunks_exact(T::WORDS)) {
                *item = T::uniform(words);
            }
        });
    }
}

impl<T: Real> Distribution for Normal<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 10;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        map_words(stream.skipped(start), T::WORDS, out, |words, items| {
            for (pair, words) in items.as_chunks_mut::<2>().0.iter_mut().zip(words.chunks_exact(2 * T::WORDS))
            {
                *pair = T::normals(words).map(T::round);
            }
        });
    }
}

impl<T: Real> Distribution for TruncatedNormal<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 20;

    /// A group takes as many words as it needs, so groups start far apart.
    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        let distance = Self::GROUP as u64 * BLOCKS_PER_OUTPUT / BLOCK as u64;
        for (group, items) in (start..).zip(out.chunks_mut(Self::GROUP)) {
            let mut words = Words::new(stream.skipped(group.wrapping_mul(distance)));
            let mut filled = 0;
            while filled < items.len() {
                let mut four = [0; BLOCK];
                four[..2 * T::WORDS].fill_with(|| words.next_word());
                for wide in T::normals(&four[..2 * T::WORDS]) {
                    if filled < items.len() && wide.into().abs() < 2.0 {
                        items[filled] = T::round(wide);
                        filled += 1;
                    }
                }
            }
        }
    }
}

/// An integer type that can be drawn.
pub trait Int: Copy + Default + Send + Sync {
    const WORDS: usize;

    /// From `WORDS` words, the low one first.
    fn full(words: &[u32]) -> Self;

    /// `low` plus the remainder of `self`, as unsigned, by the range's size.
    fn reduce(self, low: Self, high: Self) -> Self;
}

macro_rules! int {
    ($($int:ty as $unsigned:ty, $words:literal;)*) => {$(
        impl Int for $int {
            const WORDS: usize = $words;

            #[inline(always)]
            fn full(words: &[u32]) -> Self {
                words[..$words].iter().rev().fold(0u64, |high, &low| high << 32 | u64::from(low)) as $int
            }

            #[inline(always)]
            fn reduce(self, low: Self, high: Self) -> Self {
                let size = (high as $unsigned).wrapping_sub(low as $unsigned);
                low.wrapping_add((self as $unsigned % size) as $int)
            }
        }
    )*};
}

int! {
    i32 as u32, 1;
    u32 as u32, 1;
    i64 as u64, 2;
    u64 as u64, 2;
}

impl<T: Int> Distribution for FullInt<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 1;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        map_words(stream.skipped(start), T::WORDS, out, |words, items| {
            for (item, words) in items.iter_mut().zip(words.chunks_exact(T::WORDS)) {
                *item = T::full(words);
            }
        });
    }
}

impl<T: Int> Distribution for UniformInt<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 2;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        map_words(stream.skipped(start), T::WORDS, out, |words, items| {
            for (item, words) in items.iter_mut().zip(words.chunks_exact(T::WORDS)) {
                *item = T::full(words).reduce(self.low, self.high);
            }
        });
    }
}

/// Words made at a time: enough for long vectors, little enough for L1.
const BUFFER: usize = 1024;

/// Fills `out` from the words here, in pieces of whole blocks.
fn map_words<T: Copy + Default>(
    mut stream: Philox,
    words_per_item: usize,
    out: &mut [T],
    convert: impl Fn(&[u32], &mut [T]),
) {
    let mut words = [0; BUFFER];
    for items in out.chunks_mut(BUFFER / words_per_item) {
        let group = BLOCK / words_per_item;
        let words = &mut words[..items.len().div_ceil(group) * BLOCK];
        stream.fill(words);
        let (whole, cut) = items.split_at_mut(items.len() / group * group);
        let (head, tail) = words.split_at(whole.len() * words_per_item);
        convert(head, whole);
        if !cut.is_empty() {
            let mut last = [T::default(); BLOCK];
            convert(tail, &mut last[..group]);
            cut.copy_from_slice(&last[..cut.len()]);
        }
    }
}
