//! `ShuffleDataset` and its variants: elements in random order, TensorFlow's for the same seeds.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::seed_generator::{SeedGenerator, Words, seeds};
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, Tuple, UNKNOWN, emit, input, later,
};
use crate::prelude::*;
use std::collections::VecDeque;

pub static SHUFFLE_DATASET: Op = Op {
    name: "ShuffleDataset",
    doc: "Each element is drawn at random from the next `buffer_size` of `input_dataset`.",
    inputs: &["input_dataset: variant", "buffer_size: int64", "seed: int64", "seed2: int64"],
    attrs: &[
        "reshuffle_each_iteration: bool = true",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(seeded),
    ..DATASET
};

pub static SHUFFLE_DATASET_V2: Op = Op {
    name: "ShuffleDatasetV2",
    doc: "As ShuffleDataset, with seeds from a generator.",
    inputs: &["input_dataset: variant", "buffer_size: int64", "seed_generator: resource"],
    attrs: super::sequence::OUTPUT_ATTRS,
    kernels: cpu!(generated),
    stateful: true,
    ..SHUFFLE_DATASET
};

pub static SHUFFLE_DATASET_V3: Op = Op {
    name: "ShuffleDatasetV3",
    doc: "As ShuffleDataset, with seeds from a generator where there is one.",
    inputs: &[
        "input_dataset: variant",
        "buffer_size: int64",
        "seed: int64",
        "seed2: int64",
        "seed_generator: resource",
    ],
    kernels: cpu!(seeded),
    stateful: true,
    ..SHUFFLE_DATASET
};

pub static SHUFFLE_AND_REPEAT_DATASET: Op = Op {
    name: "ShuffleAndRepeatDataset",
    doc: "Shuffles and repeats: the buffer is refilled from the next pass while one ends.",
    inputs: &["input_dataset: variant", "buffer_size: int64", "seed: int64", "seed2: int64", "count: int64"],
    kernels: cpu!(repeated),
    ..SHUFFLE_DATASET
};

pub static SHUFFLE_AND_REPEAT_DATASET_V2: Op = Op {
    name: "ShuffleAndRepeatDatasetV2",
    inputs: &[
        "input_dataset: variant",
        "buffer_size: int64",
        "seed: int64",
        "seed2: int64",
        "count: int64",
        "seed_generator: resource",
    ],
    stateful: true,
    ..SHUFFLE_AND_REPEAT_DATASET
};

fn seeded(c: &mut OpCall<'_>) -> Result<()> {
    let own = SeedGenerator::new(seeds(c, 2)?, c.attrs().bool("reshuffle_each_iteration")?);
    let generator = if c.inputs.len() > 4 { SeedGenerator::given(c, 4).unwrap_or(own) } else { own };
    shuffle(c, 1, generator)
}

fn generated(c: &mut OpCall<'_>) -> Result<()> {
    let generator = SeedGenerator::given(c, 2).ok_or_else(|| {
        failed_precondition("the seed generator was never made here, or has been deleted".to_string())
    })?;
    shuffle(c, 1, generator)
}

fn repeated(c: &mut OpCall<'_>) -> Result<()> {
    let own = SeedGenerator::new(seeds(c, 2)?, c.attrs().bool("reshuffle_each_iteration")?);
    let generator = if c.inputs.len() > 5 { SeedGenerator::given(c, 5).unwrap_or(own) } else { own };
    let count = c.scalar::<i64>(4)?;
    if count == 0 || count < -1 {
        return Err(invalid!("count must be greater than zero or equal to -1, got {count}."));
    }
    shuffle(c, count, generator)
}

fn shuffle(c: &mut OpCall<'_>, passes: i64, seeds: Arc<SeedGenerator>) -> Result<()> {
    let (input, size) = (input(c, 0)?, c.scalar::<i64>(1)?);
    let size = match size {
        -1 => usize::MAX,
        n if n > 0 => n as usize,
        n => return Err(invalid!("buffer_size must be greater than zero or UNKNOWN_CARDINALITY, got {n}")),
    };
    emit(c, &[&input], Shuffle { input: input.clone(), size, passes, seeds })
}

struct Shuffle {
    input: DatasetRef,
    size: usize,
    /// How often the input is repeated; -1: without end.
    passes: i64,
    seeds: Arc<SeedGenerator>,
}

impl Dataset for Shuffle {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ShuffleIter {
            inner: c.without_cancellation(),
            source: self.input.clone(),
            size: self.size,
            passes: self.passes,
            input: None,
            begun: 0,
            buffer: ElementBuffer::default(),
            slices: VecDeque::new(),
            words: Words::new(self.seeds.next()),
            seeds: self.seeds.clone(),
        }))
    }
    fn cardinality(&self) -> i64 {
        match (self.input.cardinality(), self.passes) {
            (0, _) => 0,
            (n @ (UNKNOWN | INFINITE), _) => n,
            (_, ..0) => INFINITE,
            (n, passes) => n.checked_mul(passes).unwrap_or(INFINITE),
        }
    }
}

struct ShuffleIter {
    /// The context for new iterators.
    inner: Context,
    source: DatasetRef,
    size: usize,
    passes: i64,
    /// The current pass.
    input: Option<Box<dyn Iter>>,
    begun: i64,
    buffer: ElementBuffer,
    /// How many elements of each pass the buffer holds. Elements are drawn from the oldest pass.
    slices: VecDeque<usize>,
    words: Words,
    /// Each pass has its own seeds.
    seeds: Arc<SeedGenerator>,
}

/// Passes that the buffer may hold elements of.
const MAX_SLICES: usize = 3;

impl Iter for ShuffleIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            self.fill(c).await?;
            Ok(self.draw())
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("begun", &mut self.begun)?;
            s.number("passes", &mut self.passes)?;
            s.elements("buffer", &mut self.buffer)?;
            let mut slices = reserve::collect(self.slices.iter().map(|n| *n as i64))?;
            s.numbers("slices", &mut slices, MAX_SLICES + 1)?;
            self.slices = slices.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
            let held = self.slices.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
            if held != self.buffer.len() {
                return Err(invalid!(
                    "the state of a shuffle has {} elements, not {held}",
                    self.buffer.len()
                ));
            }
            self.words.checkpoint("words", s)?;
            self.seeds.checkpoint("seeds", s)?;
            let open = || self.source.iterator(&self.inner);
            s.input_or_none("input", &mut self.input, open, c).await
        })
    }
}

impl ShuffleIter {
    async fn fill(&mut self, c: &Context) -> Result<()> {
        while self.buffer.len() < self.size && (self.slices.len() <= MAX_SLICES || self.buffer.len() == 0) {
            c.check()?;
            if self.buffer.len() == 0 {
                self.drop_empty();
            }
            let input = match &mut self.input {
                Some(input) => input,
                None if self.passes >= 0 && self.begun >= self.passes => return Ok(()),
                none => {
                    self.begun = self.begun.saturating_add(1);
                    self.slices.push_back(0);
                    none.insert(self.source.iterator(&self.inner)?)
                }
            };
            match input.next(c).await? {
                Some(element) => {
                    self.buffer.push(element)?;
                    if let Some(newest) = self.slices.back_mut() {
                        *newest += 1;
                    }
                }
                None => {
                    self.input = None;
                    // An empty input repeated infinitely would never produce an element.
                    if self.passes < 0 && self.slices.back() == Some(&0) {
                        self.passes = 0;
                    }
                }
            }
        }
        Ok(())
    }

    /// Drops passes that have ended and have no elements left in the buffer.
    fn drop_empty(&mut self) {
        while self.slices.front() == Some(&0) && (self.slices.len() > 1 || self.input.is_none()) {
            self.slices.pop_front();
            // The last pass of an iterator leaves the next seeds to the next iterator.
            if !self.slices.is_empty() || self.passes < 0 || self.begun < self.passes {
                self.words = Words::new(self.seeds.next());
            }
        }
    }

    fn draw(&mut self) -> Option<Tuple> {
        if self.buffer.len() == 0 {
            return None;
        }
        self.drop_empty();
        let oldest = self.slices.front_mut().filter(|n| **n > 0)?;
        let pick = self.words.next() as usize % *oldest;
        *oldest -= 1;
        self.buffer.swap(pick, 0);
        self.buffer.pop()
    }
}
