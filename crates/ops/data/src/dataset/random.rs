//! `RandomDataset`, `RandomDatasetV2`: random numbers without end, TensorFlow's for the same seeds.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::seed_generator::{SeedGenerator, Words, seeds};
use super::sequence::{Dataset, INFINITE, Iter, Next, SOURCE, emit, ready};
use crate::prelude::*;

pub static RANDOM_DATASET: Op = Op {
    name: "RandomDataset",
    doc: "Random numbers of 32 bits.",
    inputs: &["seed: int64", "seed2: int64"],
    kernels: cpu!(fixed),
    ..SOURCE
};

pub static EXPERIMENTAL_RANDOM_DATASET: Op = Op {
    name: "ExperimentalRandomDataset",
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    ..RANDOM_DATASET
};

pub static RANDOM_DATASET_V2: Op = Op {
    name: "RandomDatasetV2",
    doc: "Random numbers of 32 bits; others in each iteration if `rerandomize_each_iteration`.",
    inputs: &["seed: int64", "seed2: int64", "seed_generator: resource"],
    attrs: &[
        "rerandomize_each_iteration: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(generated),
    ..SOURCE
};

fn fixed(c: &mut OpCall<'_>) -> Result<()> {
    let seeds = SeedGenerator::new(seeds(c, 0)?, false);
    emit(c, &[], Random(seeds))
}

fn generated(c: &mut OpCall<'_>) -> Result<()> {
    let again = c.attrs().bool("rerandomize_each_iteration")?;
    let own = SeedGenerator::new(seeds(c, 0)?, again);
    let seeds = SeedGenerator::given(c, 2).filter(|_| again).unwrap_or(own);
    emit(c, &[], Random(seeds))
}

struct Random(Arc<SeedGenerator>);

impl Dataset for Random {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(RandomIter { words: Words::new(self.0.next()), seeds: self.0.clone() }))
    }
    fn cardinality(&self) -> i64 {
        INFINITE
    }
}

struct RandomIter {
    words: Words,
    seeds: Arc<SeedGenerator>,
}

impl Iter for RandomIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(Ok(Some(vec![Tensor::scalar(i64::from(self.words.next()))])))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        let words = self.words.checkpoint("words", s);
        done(words.and_then(|()| self.seeds.checkpoint("seeds", s)))
    }
}
