//! `GlobalShuffleDataset`, `GetElementAtIndex`: random access.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::{Context, or_stopped};
use super::get_next::{components, declared};
use super::seed_generator::{SeedGenerator, seeds};
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, dataset_of, emit, input, later, ready};
use super::task::Task;
use crate::prelude::*;
use thalweg_math::random::index_shuffle::Cipher;

pub static GLOBAL_SHUFFLE_DATASET: Op = Op {
    name: "GlobalShuffleDataset",
    doc: "All elements of `input_dataset` in random order, by random access instead of a buffer.",
    inputs: &["input_dataset: variant", "seed: int64", "seed2: int64", "seed_generator: resource"],
    attrs: &[
        "reshuffle_each_iteration: bool = true",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(shuffled),
    stateful: true,
    ..DATASET
};

pub static GET_ELEMENT_AT_INDEX: Op = Op {
    name: "GetElementAtIndex",
    doc: "Element number `index` of a dataset with random access.",
    inputs: &["dataset: variant", "index: int64"],
    outputs: &["components: output_types"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    shape: declared,
    grad: Stops,
    kernels: cpu!(async prepare),
    ..Op::PURE
};

fn shuffled(c: &mut OpCall<'_>) -> Result<()> {
    let source = input(c, 0)?;
    source.random_access().map_err(|e| {
        failed_precondition(format_args!(
            "`global_shuffle` requires all upstream transformations be compatible with random access. Got: {}",
            e.message()
        ))
    })?;
    let n = match source.cardinality() {
        n @ 1.. => n as u64,
        n => {
            return Err(invalid!(
                "`global_shuffle` requires the input dataset to have a non-empty finite cardinality. Got cardinality {n}"
            ));
        }
    };
    let own = SeedGenerator::new(seeds(c, 1)?, c.attrs().bool("reshuffle_each_iteration")?);
    let seeds = SeedGenerator::given(c, 3).unwrap_or(own);
    emit(c, &[&source], GlobalShuffle { input: source.clone(), n, seeds })
}

struct GlobalShuffle {
    input: DatasetRef,
    n: u64,
    seeds: Arc<SeedGenerator>,
}

/// TensorFlow's.
const ROUNDS: usize = 8;

impl Dataset for GlobalShuffle {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        let (input, seeds) = (self.input.clone(), self.seeds.clone());
        let ((a, b), (c, _)) = (seeds.next(), seeds.next());
        let key = [a as u32, b as u32, c as u32];
        let cipher = Cipher::new(key, self.n - 1, ROUNDS);
        Ok(Box::new(GlobalShuffleIter { input, seeds, n: self.n, key, cipher, at: 0 }))
    }
    fn cardinality(&self) -> i64 {
        self.n as i64
    }
}

struct GlobalShuffleIter {
    input: DatasetRef,
    seeds: Arc<SeedGenerator>,
    n: u64,
    key: [u32; 3],
    cipher: Cipher,
    at: u64,
}

impl Iter for GlobalShuffleIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        if self.at >= self.n {
            return ready(Ok(None));
        }
        self.at += 1;
        self.input.get(self.cipher.shuffled(self.at - 1) as i64, c)
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(self.position(s))
    }
}

impl GlobalShuffleIter {
    fn position(&mut self, s: &mut Checkpoint) -> Result<()> {
        s.number("at", &mut self.at)?;
        for (name, part) in ["key0", "key1", "key2"].iter().zip(&mut self.key) {
            s.number(name, part)?;
        }
        self.cipher = Cipher::new(self.key, self.n - 1, ROUNDS);
        self.seeds.checkpoint("seeds", s)
    }
}

fn prepare(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(GetElement))
}

struct GetElement;

impl AsyncKernel for GetElement {
    fn start(&self, call: AsyncCall, done: Done) {
        let device = call.step.device.clone();
        Task::start(&device, async move {
            let element = element(&call).await;
            done(element.and_then(|tuple| components(&call.node, tuple)).map(outputs));
        });
    }
}

async fn element(call: &AsyncCall) -> Result<Vec<Tensor>> {
    let (dataset, i) = (dataset_of(&call.tensor(0)?)?, call.tensor(1)?.to_scalar::<i64>()?);
    let c = Context::of(&call.step).within(&call.step);
    // Boxed: its future is polled where it can be cancelled.
    let element = later(async { dataset.get(i, &c).await });
    or_stopped(element, &c).await?.ok_or_else(|| out_of_range("End of sequence"))
}
