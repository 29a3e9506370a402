//! Distributions: from Philox blocks to numbers.
//!
//! Output is generated in groups of fixed size, and the counter of group `n` depends
//! on `n` alone. So a tensor may be filled in any order, by any number of threads,
//! with the same result.

use std::marker::PhantomData;
use std::ops::Range;

use super::philox::{BLOCK, Philox};
use super::real::Real;
use super::state::BLOCKS_PER_OUTPUT;
use crate::parallel::Parallel;
use crate::shared::SharedMut;

/// A distribution to sample from a stream.
pub trait Distribution: Sync {
    type Item: Copy + Default + Send + Sync;

    /// Items in a group.
    const GROUP: usize;

    /// Rough cost of an item in nanoseconds, to decide when to use threads.
    const COST: usize;

    /// Fills `out` with the groups from `start` on; the last may be partial.
    fn fill(&self, stream: Philox, start: u64, out: &mut [Self::Item]);
}

/// Fills `out` from the start of the stream, in parallel.
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

/// The grain size of the parallel loop.
const GRAIN_NANOSECONDS: usize = 20_000;

/// Uniform in [0, 1).
pub struct Uniform<T>(PhantomData<T>);

/// Standard normal.
pub struct Normal<T>(PhantomData<T>);

/// Standard normal, redrawn until within two standard deviations.
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
    const COST: usize = 5;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        map_words(stream.skipped(start), T::WORDS, out, |words, items| {
            let mut normals = [T::Wide::default(); BUFFER];
            let normals = &mut normals[..items.len()];
            T::normals(words, normals);
            for (item, &normal) in items.iter_mut().zip(&*normals) {
                *item = T::round(normal);
            }
        });
    }
}

impl<T: Real> Distribution for TruncatedNormal<T> {
    type Item = T;
    const GROUP: usize = BLOCK / T::WORDS;
    const COST: usize = 10;

    fn fill(&self, stream: Philox, start: u64, out: &mut [T]) {
        for (first, items) in (start..).step_by(BATCH).zip(out.chunks_mut(BATCH * Self::GROUP)) {
            fill_truncated(stream, first, items);
        }
    }
}

/// Groups of truncated normals generated together.
const BATCH: usize = 64;

/// A group whose numbers are not all drawn yet.
#[derive(Clone, Copy)]
struct Pending {
    /// The index of its next number, and the end of the group.
    next: usize,
    end: usize,
}

/// Rejection sampling: a group draws blocks, from its own range of the counter, until
/// enough numbers are accepted. In each round all pending groups draw one block;
/// nearly all groups need only one.
fn fill_truncated<T: Real>(stream: Philox, first: u64, out: &mut [T]) {
    let group = BLOCK / T::WORDS;
    let distance = group as u64 * BLOCKS_PER_OUTPUT / BLOCK as u64;
    let mut pending: Vec<(u64, Pending)> = (first..)
        .zip((0..out.len()).step_by(group))
        .map(|(n, next)| (n.wrapping_mul(distance), Pending { next, end: out.len().min(next + group) }))
        .collect();
    let (mut places, mut words) = ([0; BATCH], [0; BATCH * BLOCK]);
    let mut normals = [T::Wide::default(); BATCH * BLOCK];
    while !pending.is_empty() {
        let words = &mut words[..pending.len() * BLOCK];
        for (place, (at, _)) in places.iter_mut().zip(&mut pending) {
            *place = *at;
            *at += 1;
        }
        stream.fill_at(&places[..pending.len()], words);
        T::normals(words, &mut normals[..pending.len() * group]);
        for ((_, group), normals) in pending.iter_mut().zip(normals.chunks_exact(group)) {
            for &normal in normals {
                if group.next < group.end && normal.into().abs() < 2.0 {
                    out[group.next] = T::round(normal);
                    group.next += 1;
                }
            }
        }
        pending.retain(|(_, group)| group.next < group.end);
    }
}

/// An integer type to be sampled.
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

/// Words generated at a time: enough for wide vectors, few enough for L1.
const BUFFER: usize = 1024;

/// Fills `out` from the words of the stream, in chunks of whole blocks.
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
