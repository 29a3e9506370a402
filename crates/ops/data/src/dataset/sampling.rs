//! `SamplingDataset`: a random part of the elements, TensorFlow's for the same seeds.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::seed_generator::{Words, seeds};
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, later};
use crate::prelude::*;

pub static SAMPLING_DATASET: Op = Op {
    name: "SamplingDataset",
    doc: "Each element of `input_dataset` with probability `rate`.",
    inputs: &["input_dataset: variant", "rate: float", "seed: int64", "seed2: int64"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, rate, seeds) = (input(c, 0)?, c.scalar(1)?, seeds(c, 2)?);
    emit(c, &[&input], Sampling { input: input.clone(), rate, seeds })
}

struct Sampling {
    input: DatasetRef,
    rate: f32,
    seeds: (i64, i64),
}

impl Dataset for Sampling {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let (input, words) = (self.input.iterator(c)?, Words::new(self.seeds));
        Ok(Box::new(SamplingIter { input, words, rate: self.rate }))
    }
}

struct SamplingIter {
    input: Box<dyn Iter>,
    words: Words,
    rate: f32,
}

/// A number in [0, 1) of the last 23 bits of a word.
fn fraction(word: u32) -> f32 {
    f32::from_bits(127 << 23 | word & 0x7f_ffff) - 1.0
}

impl Iter for SamplingIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                let Some(element) = self.input.next(c).await? else { return Ok(None) };
                if fraction(self.words.next()) < self.rate {
                    return Ok(Some(element));
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            self.words.checkpoint("words", s)?;
            s.input("input", &mut self.input, c).await
        })
    }
}
