//! `ShardDataset`: every n-th element; `AutoShardDataset`: for several workers.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::pass_through;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static SHARD_DATASET: Op = Op {
    name: "ShardDataset",
    doc: "The elements of `input_dataset` whose index is `index` modulo `num_shards`.",
    inputs: &["input_dataset: variant", "num_shards: int64", "index: int64"],
    attrs: &[
        "require_non_empty: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static AUTO_SHARD_DATASET: Op = Op {
    name: "AutoShardDataset",
    doc: "The elements of `input_dataset` that worker `index` has: every n-th one. Files are not distributed.",
    inputs: &["input_dataset: variant", "num_workers: int64", "index: int64"],
    attrs: &[
        "auto_shard_policy: int = 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "num_replicas: int = 0",
    ],
    kernels: cpu!(auto_shard),
    ..DATASET
};

pub static EXPERIMENTAL_AUTO_SHARD_DATASET: Op = Op {
    name: "ExperimentalAutoShardDataset",
    attrs: &[
        "auto_shard_policy: int = 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..AUTO_SHARD_DATASET
};

/// The policies of `AutoShardPolicy`. `HINT` is for datasets that say where they are to be sharded, which none does here.
const OFF: i64 = -1;
const AUTO: i64 = 0;
const FILE: i64 = 1;
const DATA: i64 = 2;
const HINT: i64 = 3;

fn auto_shard(c: &mut OpCall<'_>) -> Result<()> {
    let (input, workers, index) = (input(c, 0)?, c.scalar::<i64>(1)?, c.scalar::<i64>(2)?);
    if workers <= 0 {
        return Err(invalid!("num_workers must be greater than zero."));
    }
    if !(0..workers).contains(&index) {
        return Err(invalid!("index must be between 0 and {}", workers - 1));
    }
    match c.attrs().int("auto_shard_policy")? {
        AUTO | DATA => {
            let shard = Shard { input: input.clone(), shards: workers, index, required: false };
            emit(c, &[&input], shard)
        }
        FILE if workers > 1 => {
            Err(not_found("Found an unshardable source dataset: elements can be distributed, files cannot"))
        }
        OFF | FILE | HINT => pass_through::run(c),
        _ => Err(invalid!("auto_shard_policy is invalid.")),
    }
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, shards, index) = (input(c, 0)?, c.scalar::<i64>(1)?, c.scalar::<i64>(2)?);
    if shards <= 0 {
        return Err(invalid!(
            "Number of shards must be greater than zero (currently num_shards = {shards})."
        ));
    }
    if !(0..shards).contains(&index) {
        return Err(invalid!("Index must be between 0 and {} (currently index = {index}).", shards - 1));
    }
    let required = c.attrs().bool("require_non_empty")?;
    emit(c, &[&input], Shard { input: input.clone(), shards, index, required })
}

struct Shard {
    input: DatasetRef,
    shards: i64,
    index: i64,
    required: bool,
}

impl Dataset for Shard {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ShardIter {
            input: self.input.iterator(c)?,
            skip: self.index,
            first: true,
            shards: self.shards,
            required: self.required,
        }))
    }
    fn cardinality(&self) -> i64 {
        match self.input.cardinality() {
            n @ (UNKNOWN | INFINITE) => n,
            n => n / self.shards + i64::from(self.index < n % self.shards),
        }
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get((i as i64).saturating_mul(self.shards).saturating_add(self.index), c)
    }
}

struct ShardIter {
    input: Box<dyn Iter>,
    /// Elements of other shards before our next.
    skip: i64,
    first: bool,
    shards: i64,
    required: bool,
}

impl Iter for ShardIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let mut seen = 0;
            while self.skip > 0 {
                c.check()?;
                if self.input.next(c).await?.is_none() {
                    return self.ended(seen);
                }
                seen += 1;
                self.skip -= 1;
            }
            match self.input.next(c).await? {
                None => self.ended(seen),
                some => {
                    self.skip = self.shards - 1;
                    self.first = false;
                    Ok(some)
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("skip", &mut self.skip)?;
            s.flag("first", &mut self.first)?;
            s.input("input", &mut self.input, c).await
        })
    }
}

impl ShardIter {
    fn ended(&self, seen: i64) -> super::sequence::Element {
        if self.required && self.first {
            return Err(invalid!(
                "There aren't enough elements in this dataset for each shard to have at least one element \
                 (# elems = {seen}, # shards = {}).",
                self.shards
            ));
        }
        Ok(None)
    }
}
