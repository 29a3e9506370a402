//! Seeds for shuffling, and the resource handles of TensorFlow's seed generators.

use super::anonymous::{DUMMY, anonymous};
use super::checkpoint::Checkpoint;
use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;
use thalweg_math::random::Philox;

/// Words in a block of the stream.
const BLOCK: usize = 4;

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

pub static ANONYMOUS_RANDOM_SEED_GENERATOR: Op = Op {
    name: "AnonymousRandomSeedGenerator",
    inputs: &["seed: int64", "seed2: int64"],
    kernels: cpu!(random),
    ..ANONYMOUS_SEED_GENERATOR
};

pub static DELETE_RANDOM_SEED_GENERATOR: Op =
    Op { name: "DeleteRandomSeedGenerator", ..super::anonymous::DELETE };

pub static DELETE_SEED_GENERATOR: Op = Op { name: "DeleteSeedGenerator", ..super::anonymous::DELETE };

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let generator = SeedGenerator::new(seeds(c, 0)?, c.scalar(2)?);
    anonymous(c, generator);
    Ok(())
}

fn random(c: &mut OpCall<'_>) -> Result<()> {
    anonymous(c, SeedGenerator::new(seeds(c, 0)?, true));
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

    /// Saves or restores which seeds are next.
    pub fn checkpoint(&self, key: &str, s: &mut Checkpoint) -> Result<()> {
        match &self.fresh {
            None => Ok(()),
            Some(words) => lock(words).checkpoint(key, s),
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
    seeds: (i64, i64),
    block: [u32; BLOCK],
    /// How many were given.
    given: u64,
}

impl Words {
    pub fn new(seeds: (i64, i64)) -> Words {
        Words { seeds, block: [0; BLOCK], given: 0 }
    }

    pub fn next(&mut self) -> u32 {
        let at = (self.given % BLOCK as u64) as usize;
        if at == 0 {
            self.read_block();
        }
        self.given = self.given.wrapping_add(1);
        self.block[at]
    }

    fn read_block(&mut self) {
        let stream = Philox::new(self.seeds.0, self.seeds.1);
        self.block = stream.skipped(self.given / BLOCK as u64).next_block();
    }

    pub fn checkpoint(&mut self, key: &str, s: &mut Checkpoint) -> Result<()> {
        let outside = s.enter(key)?;
        s.number("seed", &mut self.seeds.0)?;
        s.number("seed2", &mut self.seeds.1)?;
        s.number("given", &mut self.given)?;
        self.read_block();
        s.leave(outside);
        Ok(())
    }
}
