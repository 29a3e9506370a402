//! Seeds for shuffling, and the resource handles of TensorFlow's seed generators.

use super::anonymous::{DUMMY, anonymous};
use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;
use thalweg_math::random::Philox;

pub static DUMMY_SEED_GENERATOR: Op =
    Op { name: "DummySeedGenerator", doc: "A handle to no seed generator.", ..DUMMY };

pub static ANONYMOUS_SEED_GENERATOR: Op = Op {
    name: "AnonymousSeedGenerator",
    doc: "A new generator of seeds for shuffling.",
    inputs: &["seed: int64", "seed2: int64", "reshuffle: bool"],
    outputs: &["handle: resource", "deleter: variant"],
    shape: shape_call::scalar,
    kernels: cpu!(run),
    ..Op::STATEFUL
};

pub static DELETE_SEED_GENERATOR: Op = Op { name: "DeleteSeedGenerator", ..super::anonymous::DELETE };

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let generator = SeedGenerator::new(seeds(c, 0)?, c.scalar(2)?);
    anonymous(c, generator);
    Ok(())
}

/// The seeds in inputs `i` and `i + 1`; random ones if both are zero.
pub fn seeds(c: &OpCall<'_>, i: usize) -> Result<(i64, i64)> {
    match (c.scalar::<i64>(i)?, c.scalar::<i64>(i + 1)?) {
        (0, 0) => Ok(((c.step.device.entropy)() as i64, (c.step.device.entropy)() as i64)),
        given => Ok(given),
    }
}

/// The seeds of each iteration.
pub struct SeedGenerator {
    seeds: (i64, i64),
    /// `None`: the same in every iteration.
    fresh: Option<Mutex<Words>>,
}

impl SeedGenerator {
    pub fn new(seeds: (i64, i64), reshuffle: bool) -> Arc<SeedGenerator> {
        Arc::new(SeedGenerator { seeds, fresh: reshuffle.then(|| Mutex::new(Words::new(seeds))) })
    }

    /// The generator whose handle is input `i`, if any.
    pub fn given(c: &OpCall<'_>, i: usize) -> Option<Arc<SeedGenerator>> {
        c.resource(i).ok()
    }

    pub fn next(&self) -> (i64, i64) {
        match &self.fresh {
            None => self.seeds,
            Some(words) => {
                let mut words = lock(words);
                (i64::from(words.next()), i64::from(words.next()))
            }
        }
    }
}

impl Resource for SeedGenerator {
    fn kind(&self) -> &'static str {
        "SeedGenerator"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The words of a Philox stream in sequence.
pub struct Words {
    stream: Philox,
    block: [u32; 4],
    used: usize,
}

impl Words {
    pub fn new(seeds: (i64, i64)) -> Words {
        Words { stream: Philox::new(seeds.0, seeds.1), block: [0; 4], used: 4 }
    }

    pub fn next(&mut self) -> u32 {
        if self.used == self.block.len() {
            self.block = self.stream.next_block();
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }
}
