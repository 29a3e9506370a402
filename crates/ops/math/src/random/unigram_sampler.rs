//! Samplers of classes by their frequency: given (`FixedUnigramCandidateSampler`), or counted as true classes come by
//! (`LearnedUnigramCandidateSampler`). `AllCandidateSampler` takes every class.

use super::candidate_sampler::{
    UNIFORM_CANDIDATE_SAMPLER, WORDS_PER_SAMPLE, answer, expected, sample, true_classes,
};
use super::drawn::Seeded;
use crate::files;
use crate::prelude::*;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use thalweg_core::sync::lock;
use thalweg_math::random::Words;

pub static OPS: &[&Op] = &[
    &ALL_CANDIDATE_SAMPLER,
    &FIXED_UNIGRAM_CANDIDATE_SAMPLER,
    &LEARNED_UNIGRAM_CANDIDATE_SAMPLER,
    &THREAD_UNSAFE_UNIGRAM_CANDIDATE_SAMPLER,
];

static ALL_CANDIDATE_SAMPLER: Op = Op {
    name: "AllCandidateSampler",
    doc: "All num_sampled classes, each expected once: for debugging.",
    attrs: &[
        "num_true: int >= 1",
        "num_sampled: int >= 1",
        "unique: bool",
        "seed: int = 0",
        "seed2: int = 0",
    ],
    kernels: cpu!(all),
    cases: |_| {
        let classes = Tensor::from_slice(Shape::new(&[2, 1]).unwrap_or_default(), &[3i64, 2]);
        let inputs = classes.into_iter().collect();
        vec![Case::new(inputs).attr("num_true", 1).attr("num_sampled", 4).attr("unique", true)]
    },
    ..UNIFORM_CANDIDATE_SAMPLER
};

fn all(c: &mut OpCall<'_>) -> Result<()> {
    let (num_true, n) = (c.attrs().int("num_true")?, c.attrs().int("num_sampled")?);
    let truth = true_classes(c, num_true, n)?.len();
    let (classes, once) = (reserve::collect(0..n)?, reserve::filled(n as usize, 1.0)?);
    answer(c, &classes, &reserve::filled(truth, 1.0)?, &once)
}

static LEARNED_UNIGRAM_CANDIDATE_SAMPLER: Op = Op {
    name: "LearnedUnigramCandidateSampler",
    doc: "As UniformCandidateSampler, where a class is the likelier the more often it was among the true classes.",
    kernels: cpu!(make learned),
    ..UNIFORM_CANDIDATE_SAMPLER
};

static THREAD_UNSAFE_UNIGRAM_CANDIDATE_SAMPLER: Op = Op {
    name: "ThreadUnsafeUnigramCandidateSampler",
    doc: "The same as LearnedUnigramCandidateSampler, which is safe to use from several threads here too.",
    ..LEARNED_UNIGRAM_CANDIDATE_SAMPLER
};

fn learned(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let how = How::of(node)?;
    if how.range >= i64::from(i32::MAX) {
        return Err(invalid!("Expected range <= kint32max. Got range: {}", how.range));
    }
    let counts = Mutex::new(Counts::default());
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut counts = lock(&counts);
        counts.start(how.range as usize)?;
        how.run(c, |words| counts.draw(words), |class| counts.probability(class))?;
        for class in true_classes(c, how.num_true, how.range)? {
            counts.add(*class);
        }
        Ok(())
    }))
}

/// How often each class was seen, one more than it was, as a Fenwick tree: node i has the sum of the lowbit(i) counts up to i.
#[derive(Default)]
struct Counts {
    tree: Vec<u32>,
    total: u32,
}

impl Counts {
    fn start(&mut self, classes: usize) -> Result<()> {
        if self.tree.is_empty() {
            self.tree = reserve::collect((0..=classes as u32).map(|i| i & i.wrapping_neg()))?;
            self.total = classes as u32;
        }
        Ok(())
    }

    /// The sum of the counts of the classes before this one.
    fn before(&self, class: i64) -> u32 {
        let (mut i, mut sum) = (class as usize, 0);
        while i > 0 {
            sum += self.tree[i];
            i &= i - 1;
        }
        sum
    }

    fn add(&mut self, class: i64) {
        // The sum stays an int32, as TensorFlow's.
        if self.total >= i32::MAX as u32 {
            return;
        }
        self.total += 1;
        let mut i = class as usize + 1;
        while let Some(node) = self.tree.get_mut(i) {
            *node += 1;
            i += i & i.wrapping_neg();
        }
    }

    fn draw(&self, words: &mut Words) -> i64 {
        let mut rest = below(words, self.total);
        let (mut at, mut step) = (0, self.tree.len().next_power_of_two());
        while step > 0 {
            if let Some(node) = self.tree.get(at + step).filter(|node| **node <= rest) {
                rest -= node;
                at += step;
            }
            step /= 2;
        }
        at as i64
    }

    fn probability(&self, class: i64) -> f32 {
        (self.before(class + 1) - self.before(class)) as f32 / self.total as f32
    }
}

static FIXED_UNIGRAM_CANDIDATE_SAMPLER: Op = Op {
    name: "FixedUnigramCandidateSampler",
    doc: "As UniformCandidateSampler, with classes of given frequencies, raised to the power `distortion`: in a file, or as `unigrams`.",
    attrs: &[
        "num_true: int >= 1",
        "num_sampled: int >= 1",
        "unique: bool",
        "range_max: int >= 1",
        "vocab_file: string = ''",
        "distortion: float = 1.0",
        "num_reserved_ids: int = 0",
        "num_shards: int >= 1 = 1",
        "shard: int >= 0 = 0",
        "unigrams: list(float) = []",
        "seed: int = 0",
        "seed2: int = 0",
    ],
    kernels: cpu!(make fixed),
    cases: |_| {
        let classes = Tensor::from_slice(Shape::new(&[2, 1]).unwrap_or_default(), &[3i64, 2]);
        let case = Case::new(classes.into_iter().collect()).attr("num_true", 1).attr("num_sampled", 3);
        let unigrams = Attr::List([1.0, 2.0, 3.0].map(Attr::Float).to_vec());
        let case = case.attr("unique", true).attr("range_max", 4).attr("num_reserved_ids", 1);
        vec![case.attr("unigrams", unigrams).attr("seed", 3).attr("seed2", 5)]
    },
    ..UNIFORM_CANDIDATE_SAMPLER
};

fn fixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (how, shards) = (How::of(node)?, Shards::of(node)?);
    let file = node.attrs.bytes("vocab_file")?.clone();
    let unigrams: Vec<f32> = node.attrs.floats("unigrams")?;
    match (file.is_empty(), unigrams.is_empty()) {
        (true, true) => return Err(invalid!("Must provide either vocab_file or unigrams.")),
        (false, false) => return Err(invalid!("Must only provide one of vocab_file and unigrams.")),
        _ => {}
    }
    let prepared = OnceLock::<Frequencies>::new();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if prepared.get().is_none() {
            let reserved = shards.reserved();
            if reserved > how.range {
                return Err(invalid!(
                    "range is {} must be equal to weights size, and {reserved} ids are reserved",
                    how.range
                ));
            }
            let weights = if file.is_empty() {
                shards.weights(unigrams.iter().map(|w| Ok(*w)))?
            } else {
                shards.of_file(c, &file)?
            };
            if weights.len() as i64 != how.range {
                return Err(invalid!(
                    "range is {} must be equal to weights size {}",
                    how.range,
                    weights.len()
                ));
            }
            let made = Frequencies::new(weights)?;
            prepared.get_or_init(|| made);
        }
        let Some(frequencies) = prepared.get() else { return Err(internal("no frequencies")) };
        if how.unique && how.num_sampled as usize > frequencies.possible {
            return Err(invalid!(
                "num_sampled is {}, but only {} classes have a weight to be sampled by",
                how.num_sampled,
                frequencies.possible
            ));
        }
        how.run(c, |words| frequencies.draw(words), |class| frequencies.probability(class))
    }))
}

/// Which classes of the list are this node's, and what becomes of their frequencies.
struct Shards {
    reserved: i64,
    count: i64,
    own: i64,
    distortion: f32,
}

impl Shards {
    fn of(node: &KernelNode) -> Result<Shards> {
        let attrs = &node.attrs;
        Ok(Shards {
            reserved: attrs.int("num_reserved_ids")?,
            count: attrs.int("num_shards")?,
            own: attrs.int("shard")?,
            distortion: attrs.float("distortion")?,
        })
    }

    /// How many of the reserved ids are this shard's.
    fn reserved(&self) -> i64 {
        if !(0..self.count).contains(&self.own) || self.reserved <= self.own {
            return 0;
        }
        (self.reserved - self.own - 1) / self.count + 1
    }

    fn weights(&self, given: impl Iterator<Item = Result<f32>>) -> Result<Vec<f32>> {
        let mut weights = reserve::filled(self.reserved() as usize, 0.0)?;
        // Numbers continue from the reserved classes of this shard, as in TensorFlow.
        for (id, weight) in (weights.len() as i64..).zip(given) {
            let weight = weight?;
            if id % self.count == self.own {
                reserve::push(&mut weights, weight.powf(self.distortion))?;
            }
        }
        Ok(weights)
    }

    /// Frequencies after the last comma of each line.
    fn of_file(&self, c: &OpCall<'_>, path: &[u8]) -> Result<Vec<f32>> {
        let path = std::str::from_utf8(path).map_err(|_| invalid!("vocab_file is not UTF-8"))?;
        let contents = files::read(&c.step.device.access, Path::new(path))?;
        let lines = contents.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        self.weights(lines.map(|line| {
            let last = line.rsplit(|b| *b == b',').next().unwrap_or_default();
            let text = String::from_utf8_lossy(last);
            text.trim().parse().map_err(|_| invalid!("Wrong vocabulary format at line: {}", shown(line)))
        }))
    }
}

/// The beginning of a line, for errors.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned()
}

/// Classes by weight, by Walker's alias method: each of n equal shares belongs to a class, and beyond `keep` to another.
struct Frequencies {
    weights: Vec<f32>,
    total: f32,
    shares: Vec<(f32, usize)>,
    /// Classes whose weight is not 0.
    possible: usize,
}

impl Frequencies {
    fn new(weights: Vec<f32>) -> Result<Frequencies> {
        let n = weights.len();
        let total = weights.iter().fold(0.0, |sum: f32, w| sum + w);
        if !total.is_finite() || weights.iter().any(|w| *w < 0.0 || w.is_nan()) || total <= 0.0 {
            return Err(invalid!(
                "unigram weights must not be negative, and their sum positive and finite; got {total}"
            ));
        }
        let sum: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        let mut parts = reserve::collect(weights.iter().map(|w| f64::from(w * n as f32) / sum))?;
        let mut other = reserve::collect(0..n)?;
        let (mut high, mut low) = (reserve::with_capacity(n)?, reserve::with_capacity(n)?);
        for (i, part) in parts.iter().enumerate() {
            if *part < 1.0 { low.push(i) } else { high.push(i) }
        }
        while let (Some(&h), Some(&l)) = (high.last(), low.last()) {
            high.pop();
            low.pop();
            other[l] = h;
            parts[h] -= 1.0 - parts[l];
            if parts[h] < 1.0 { low.push(h) } else { high.push(h) }
        }
        // What rounding left over is full.
        for i in high.into_iter().chain(low) {
            (parts[i], other[i]) = (1.0, i);
        }
        let shares = reserve::collect(parts.into_iter().map(|p| p as f32).zip(other))?;
        let possible = weights.iter().filter(|w| **w > 0.0).count();
        Ok(Frequencies { weights, total, shares, possible })
    }

    fn draw(&self, words: &mut Words) -> i64 {
        let chance = words.next_f32();
        let share = below(words, self.shares.len() as u32) as usize;
        let (keep, other) = self.shares[share];
        (if chance < keep { share } else { other }) as i64
    }

    fn probability(&self, class: i64) -> f32 {
        self.weights.get(class as usize).map_or(0.0, |w| w / self.total)
    }
}

/// What the samplers have in common.
struct How {
    stream: Seeded,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range: i64,
}

impl How {
    fn of(node: &KernelNode) -> Result<How> {
        let attrs = &node.attrs;
        let how = How {
            stream: Seeded::of(node)?,
            num_true: attrs.int("num_true")?,
            num_sampled: attrs.int("num_sampled")?,
            unique: attrs.bool("unique")?,
            range: attrs.int("range_max")?,
        };
        if how.unique && how.num_sampled > how.range {
            return Err(invalid!(
                "Sampler's range is too small: {} unique classes of {}",
                how.num_sampled,
                how.range
            ));
        }
        Ok(how)
    }

    fn run(
        &self,
        c: &mut OpCall<'_>,
        draw: impl Fn(&mut Words) -> i64,
        probability: impl Fn(i64) -> f32,
    ) -> Result<()> {
        let truth = true_classes(c, self.num_true, self.range)?;
        let count = self.num_sampled as usize;
        let part = self.stream.reserve(c, |s| s.reserve_words(WORDS_PER_SAMPLE.wrapping_mul(count as u64)));
        let (sampled, tries) = sample(c, &mut Words::new(part), draw, count, self.unique)?;
        let count = |class: &i64| expected(probability(*class), count, tries);
        let of_truth = reserve::collect(truth.iter().map(count))?;
        let of_sampled = reserve::collect(sampled.iter().map(count))?;
        answer(c, &sampled, &of_truth, &of_sampled)
    }
}

/// A uniform number below `range`, by rejection sampling.
fn below(words: &mut Words, range: u32) -> u32 {
    if range.is_power_of_two() {
        return words.next_word() & (range - 1);
    }
    let spare = u32::MAX % range.max(1) + 1;
    loop {
        let word = words.next_word();
        if word >= spare {
            return word % range.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ids_of_a_shard_are_counted_not_walked() {
        let shards = |reserved, count, own| Shards { reserved, count, own, distortion: 1.0 }.reserved();
        for (reserved, count, own) in
            [(0, 1, 0), (7, 3, 0), (7, 3, 1), (7, 3, 2), (2, 3, 2), (9, 2, 5), (-4, 2, 1)]
        {
            let walked = (0..reserved).filter(|id| id % count == own).count() as i64;
            assert_eq!(shards(reserved, count, own), walked, "{reserved} {count} {own}");
        }
        assert_eq!(shards(i64::MAX, 1 << 31, 0), (1 << 32));
    }

    #[test]
    fn counts_grow_and_are_drawn_by() {
        let mut counts = Counts::default();
        counts.start(5).unwrap();
        (0..15).for_each(|_| counts.add(3));
        assert_eq!((counts.total, counts.before(3), counts.before(4), counts.before(5)), (20, 3, 19, 20));
        assert_eq!(counts.probability(3), 0.8);
        let mut words = Words::new(thalweg_math::random::Philox::new(1, 2));
        let drawn: Vec<i64> = (0..100).map(|_| counts.draw(&mut words)).collect();
        assert!(drawn.iter().all(|d| (0..5).contains(d)) && drawn.iter().filter(|d| **d == 3).count() > 60);
    }
}
