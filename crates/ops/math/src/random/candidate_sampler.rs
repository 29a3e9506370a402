//! `UniformCandidateSampler`, `LogUniformCandidateSampler`: sampled classes, for losses over few of many classes.

use super::drawn::Seeded;
use crate::prelude::*;
use std::collections::HashSet;
use thalweg_math::random::Words;

pub static UNIFORM_CANDIDATE_SAMPLER: Op = Op {
    name: "UniformCandidateSampler",
    doc: "num_sampled classes below range_max, and how often the true classes and each of these are expected in such a sample.",
    inputs: &["true_classes: int64"],
    outputs: &["sampled_candidates: int64", "true_expected_count: float", "sampled_expected_count: float"],
    attrs: &[
        "num_true: int >= 1",
        "num_sampled: int >= 1",
        "unique: bool",
        "range_max: int >= 1",
        "seed: int = 0",
        "seed2: int = 0",
    ],
    shape: |c| {
        let (num_true, sampled) =
            (c.attrs.int("num_true")?, PartialShape::vector(c.attrs.int("num_sampled")?));
        let classes = c.rank(0, 2)?;
        merge_dim(classes.dim(1), num_true)?;
        Ok(vec![sampled.clone(), [classes.dim(0), num_true].into_iter().collect(), sampled])
    },
    kernels: cpu!(make uniform),
    cases: |_| {
        let classes = Tensor::from_slice(Shape::new(&[2, 1]).unwrap_or_default(), &[3i64, 7]);
        let case = |unique: bool| {
            let inputs = classes.iter().cloned().collect();
            let case = Case::new(inputs).attr("num_true", 1).attr("num_sampled", 4).attr("unique", unique);
            case.attr("range_max", 10).attr("seed", 3).attr("seed2", 5)
        };
        vec![case(true), case(false)]
    },
    ..Op::STATEFUL
};

pub static LOG_UNIFORM_CANDIDATE_SAMPLER: Op = Op {
    name: "LogUniformCandidateSampler",
    doc: "As UniformCandidateSampler, where class k is as likely as log((k + 2) / (k + 1)): for classes in the order of their frequency.",
    kernels: cpu!(make log_uniform),
    ..UNIFORM_CANDIDATE_SAMPLER
};

/// The class distribution.
#[derive(Clone, Copy)]
enum Distribution {
    Uniform,
    /// About proportional to 1 / (k+1).
    LogUniform,
}

impl Distribution {
    fn draw(self, words: &mut Words, range: i64) -> i64 {
        match self {
            Distribution::Uniform => below(words, range as u64) as i64,
            Distribution::LogUniform => {
                let log_range = (range as f64).ln_1p();
                // Rounding may give one past the last class.
                ((words.next_f64() * log_range).exp() as i64 - 1) % range
            }
        }
    }

    fn probability(self, class: i64, range: i64) -> f32 {
        match self {
            Distribution::Uniform => 1.0 / range as f32,
            Distribution::LogUniform => {
                let k = class as f64;
                (((k + 2.0) / (k + 1.0)).ln() / (range as f64).ln_1p()) as f32
            }
        }
    }
}

fn uniform(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Distribution::Uniform)
}

fn log_uniform(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Distribution::LogUniform)
}

/// 32-bit words that TensorFlow reserves per sample.
pub const WORDS_PER_SAMPLE: u64 = 2048;

fn prepare(node: &KernelNode, distribution: Distribution) -> Result<Box<dyn Kernel>> {
    let (stream, attrs) = (Seeded::of(node)?, &node.attrs);
    let (num_true, num_sampled) = (attrs.int("num_true")?, attrs.int("num_sampled")?);
    let (unique, range) = (attrs.bool("unique")?, attrs.int("range_max")?);
    if unique && num_sampled > range {
        return Err(invalid!("Sampler's range is too small: {num_sampled} unique classes of {range}"));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let truth = true_classes(c, num_true, range)?;
        let part = stream.reserve(c, |s| s.reserve_words(WORDS_PER_SAMPLE.wrapping_mul(num_sampled as u64)));
        let draw = |words: &mut Words| distribution.draw(words, range);
        let (sampled, tries) = sample(c, &mut Words::new(part), draw, num_sampled as usize, unique)?;
        let count =
            |class: &i64| expected(distribution.probability(*class, range), num_sampled as usize, tries);
        let of_truth = reserve::collect(truth.iter().map(count))?;
        let of_sampled = reserve::collect(sampled.iter().map(count))?;
        answer(c, &sampled, &of_truth, &of_sampled)
    }))
}

/// The true classes in input 0: a matrix of `num_true` columns of classes below `range`.
pub fn true_classes<'a>(c: &'a OpCall<'_>, num_true: i64, range: i64) -> Result<&'a [i64]> {
    let classes = c.shape(0)?;
    if classes.rank() != 2 || classes[1] as i64 != num_true {
        return Err(invalid!(
            "true_classes must have num_true columns: expected [n, {num_true}], got {classes}"
        ));
    }
    let truth = c.slice::<i64>(0)?;
    match truth.iter().find(|t| **t < 0 || **t >= range) {
        Some(odd) => Err(invalid!("`true_candidate` out of range [0, {range}), received {odd}")),
        None => Ok(truth),
    }
}

/// Sets the outputs of a sampler.
pub fn answer(c: &mut OpCall<'_>, sampled: &[i64], of_truth: &[f32], of_sampled: &[f32]) -> Result<()> {
    let classes = c.shape(0)?.clone();
    c.set(0, Tensor::vector(sampled)?);
    c.set(1, Tensor::from_slice(classes, of_truth)?);
    c.set(2, Tensor::vector(of_sampled)?);
    Ok(())
}

/// Tries between two looks at whether the step goes on.
const CHECK_EVERY: usize = 1 << 16;

/// Sampled classes, and the number of tries. All differ if `unique`, which needs as many classes.
pub fn sample(
    c: &OpCall<'_>,
    words: &mut Words,
    draw: impl Fn(&mut Words) -> i64,
    count: usize,
    unique: bool,
) -> Result<(Vec<i64>, usize)> {
    let (mut seen, mut out, mut tries) = (HashSet::new(), reserve::with_capacity(count)?, 0);
    if unique {
        reserve::room(&mut seen, count)?;
    }
    while out.len() < count {
        let class = draw(words);
        tries += 1;
        // The last class may be one that is hardly ever drawn.
        if tries % CHECK_EVERY == 0 {
            c.step.check()?;
        }
        if !unique || seen.insert(class) {
            out.push(class);
        }
    }
    Ok((out, tries))
}

/// A uniform number below `range`, by rejection sampling.
fn below(words: &mut Words, range: u64) -> u64 {
    let mut wide = || u64::from(words.next_word()) | u64::from(words.next_word()) << 32;
    if range.is_power_of_two() {
        return wide() & (range - 1);
    }
    let spare = u64::MAX % range + 1;
    loop {
        let word = wide();
        if word >= spare {
            return word % range;
        }
    }
}

/// The expected count of a class of this probability, given the tries to get `count`.
pub fn expected(p: f32, count: usize, tries: usize) -> f32 {
    if tries == count { p * count as f32 } else { -(tries as f32 * (-p).ln_1p()).exp_m1() }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::runs;

    /// TensorFlow 2.21's samples in two runs with these attrs and the seeds 3 and 5.
    #[test]
    fn draws_what_tensorflow_does() {
        let truth = Tensor::from_slice(Shape::new(&[2, 1]).unwrap(), &[3i64, 7]).unwrap();
        let draw = |op: &str, unique: bool, range: i64| {
            let attrs = [
                ("num_true", Attr::Int(1)),
                ("num_sampled", Attr::Int(4)),
                ("unique", unique.into()),
                ("range_max", range.into()),
                ("seed", Attr::Int(3)),
                ("seed2", Attr::Int(5)),
            ];
            let [first, second] = runs(op, std::slice::from_ref(&truth), &attrs);
            [first, second].map(|t| t.to_i64s().unwrap())
        };
        let uniform = |unique, range| draw("UniformCandidateSampler", unique, range);
        assert_eq!(uniform(true, 10), [[9, 8, 2, 5], [1, 3, 9, 4]]);
        assert_eq!(uniform(true, 16), [[3, 4, 13, 2], [15, 7, 5, 0]]);
        assert_eq!(uniform(false, 16), [[3, 4, 4, 13], [15, 7, 5, 0]]);
        let wide =
            [[294415059, 4955347988, 533171972, 1965600925], [4160733551, 961205303, 1701037349, 1764360624]];
        assert_eq!(uniform(false, 5_000_000_000), wide);
        let log_uniform = |unique, range| draw("LogUniformCandidateSampler", unique, range);
        assert_eq!(log_uniform(true, 10), [[0, 1, 4, 5], [8, 0, 5, 2]]);
        assert_eq!(log_uniform(false, 16), [[0, 0, 2, 6], [13, 13, 0, 0]]);
        let wide = [[56, 1, 12420, 6993976], [1518543030, 1136096098, 25, 4]];
        assert_eq!(log_uniform(false, 5_000_000_000), wide);
    }
}
