//! `MapDataset`, `ParallelMapDataset`, `ParallelMapDatasetV2`, `MapAndBatchDataset`: map a function over them.

use super::batch::{Batch, batch_size};
use super::checkpoint::{Checkpoint, Work, work};
use super::context::{Call, Context};
use super::function::Function;
use super::sequence::{
    DATASET, Dataset, DatasetRef, Element, Iter, Next, Tuple, TypedDataset, emit, emit_typed, input, later,
};
use crate::prelude::*;
use std::collections::VecDeque;

pub static MAP_DATASET: Op = Op {
    name: "MapDataset",
    doc: "Function `f` of each element of `input_dataset`.",
    inputs: &["input_dataset: variant", "other_arguments: Targuments"],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "use_inter_op_parallelism: bool = true",
        "preserve_cardinality: bool = false",
        "force_synchronous: bool = false",
        "metadata: string = ''",
    ],
    kernels: cpu!(serial),
    ..DATASET
};

pub static PARALLEL_MAP_DATASET: Op = Op {
    name: "ParallelMapDataset",
    doc: "Function `f` of each element of `input_dataset`, up to `num_parallel_calls` at once.",
    inputs: &["input_dataset: variant", "other_arguments: Targuments", "num_parallel_calls: int32"],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "use_inter_op_parallelism: bool = true",
        "sloppy: bool = false",
        "preserve_cardinality: bool = false",
        "metadata: string = ''",
    ],
    kernels: cpu!(parallel),
    ..DATASET
};

pub static PARALLEL_MAP_DATASET_V2: Op = Op {
    name: "ParallelMapDatasetV2",
    inputs: &["input_dataset: variant", "other_arguments: Targuments", "num_parallel_calls: int64"],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "use_inter_op_parallelism: bool = true",
        "deterministic: string = 'default'",
        "preserve_cardinality: bool = false",
        "use_unbounded_threadpool: bool = false",
        "metadata: string = ''",
    ],
    ..PARALLEL_MAP_DATASET
};

pub static MAP_AND_BATCH_DATASET: Op = Op {
    name: "MapAndBatchDataset",
    doc: "Function `f` of each element of `input_dataset`, the results in batches of `batch_size`.",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "batch_size: int64",
        "num_parallel_calls: int64",
        "drop_remainder: bool",
    ],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "preserve_cardinality: bool = false",
        "metadata: string = ''",
    ],
    kernels: cpu!(batched),
    ..DATASET
};

pub static EXPERIMENTAL_MAP_DATASET: Op = Op {
    name: "ExperimentalMapDataset",
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "use_inter_op_parallelism: bool = true",
        "preserve_cardinality: bool = false",
        "force_synchronous: bool = false",
    ],
    ..MAP_DATASET
};

pub static EXPERIMENTAL_MAP_AND_BATCH_DATASET: Op = Op {
    name: "ExperimentalMapAndBatchDataset",
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "preserve_cardinality: bool = false",
    ],
    ..MAP_AND_BATCH_DATASET
};

fn map_of(c: &OpCall<'_>, at_once: usize) -> Result<Map> {
    let preserves = c.attrs().bool("preserve_cardinality")?;
    Ok(Map { input: input(c, 0)?, f: Function::of(c, "f", 1)?, at_once, preserves })
}

fn serial(c: &mut OpCall<'_>) -> Result<()> {
    let map = map_of(c, 1)?;
    emit(c, &[&map.input.clone()], map)
}

fn parallel(c: &mut OpCall<'_>) -> Result<()> {
    let map = map_of(c, calls_at_once(c, 2)?)?;
    emit(c, &[&map.input.clone()], map)
}

fn batched(c: &mut OpCall<'_>) -> Result<()> {
    let map = map_of(c, calls_at_once(c, 3)?)?;
    let scalar = |arg: usize| c.arg(arg).next().ok_or_else(|| internal("a scalar is missing"));
    let (size, drop_remainder) = (batch_size(c.scalar(scalar(2)?)?)?, c.scalar(scalar(4)?)?);
    let types = c.attrs().types("output_types")?;
    // The declared shapes are those of batches; those of single elements are unknown.
    let shapes = vec![PartialShape::unknown(); types.len()];
    let mapped = TypedDataset::new(types.clone(), shapes, &[&map.input.clone()], map)?;
    let batch = Batch { input: mapped.clone(), size, drop_remainder };
    emit_typed(c, types, c.attrs().shapes("output_shapes")?, &[&mapped], batch)
}

/// Most concurrent calls of one iterator.
const MAX_CALLS: i64 = 1024;

/// The number of parallel calls in argument `arg`; -1 for autotuning.
pub fn calls_at_once(c: &OpCall<'_>, arg: usize) -> Result<usize> {
    let n = match c.arg(arg).next() {
        Some(i) => c.scalar_int(i)?,
        None => -1,
    };
    match n {
        -1 => Ok(c.par().threads().max(2)),
        1.. => Ok(n.min(MAX_CALLS) as usize),
        _ => Err(invalid!("num_parallel_calls must be greater than zero, got {n}.")),
    }
}

struct Map {
    input: DatasetRef,
    f: Function,
    /// Concurrent calls.
    at_once: usize,
    /// OutOfRange from the function is an error, not the end of the sequence.
    preserves: bool,
}

impl Dataset for Map {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let mapped = Mapped { input: self.input.iterator(c)?, f: self.f.clone(), preserves: self.preserves };
        Ok(match self.at_once {
            1 => Box::new(mapped),
            n => Box::new(ParallelMapped { mapped, at_once: n, under_way: VecDeque::new(), ended: false }),
        })
    }
    fn cardinality(&self) -> i64 {
        if self.preserves { self.input.cardinality() } else { super::sequence::UNKNOWN }
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        later(async move {
            match self.input.get(i as i64, c).await? {
                Some(element) => result(self.f.call(c, element).await, self.preserves),
                None => Ok(None),
            }
        })
    }
}

struct Mapped {
    input: Box<dyn Iter>,
    f: Function,
    preserves: bool,
}

/// What the results of a call mean; see `Map::preserves`.
pub fn result(results: Result<Tuple>, preserves: bool) -> Element {
    match results {
        Err(e) if e.code() != Code::OutOfRange => Err(e),
        Err(e) if preserves => Err(invalid!("Function invocation produced OutOfRangeError: {}", e.message())),
        Err(_) => Ok(None),
        Ok(results) => Ok(Some(results)),
    }
}

impl Iter for Mapped {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            match self.input.next(c).await? {
                Some(element) => {
                    let results = self.f.call(c, element).await;
                    result(results, self.preserves)
                }
                None => Ok(None),
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input("input", &mut self.input, c).await })
    }
}

/// Calls run concurrently; results are in the order of the calls.
struct ParallelMapped {
    mapped: Mapped,
    at_once: usize,
    under_way: VecDeque<UnderWay>,
    ended: bool,
}

/// A call, or what it gave.
enum UnderWay {
    Call(Call),
    Over(Element),
}

impl Iter for ParallelMapped {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            // Calls outlive the step that started them.
            let between_steps = c.without_cancellation();
            while !self.ended && self.under_way.len() < self.at_once {
                reserve::room(&mut self.under_way, 1)?;
                match self.mapped.input.next(c).await {
                    Ok(Some(e)) => {
                        let call = self.mapped.f.call_elsewhere(&between_steps, e);
                        self.under_way.push_back(UnderWay::Call(call));
                    }
                    Ok(None) => self.ended = true,
                    // In order.
                    Err(e) => {
                        self.under_way.push_back(UnderWay::Over(Err(e)));
                        break;
                    }
                }
            }
            match self.under_way.front_mut() {
                None => return Ok(None),
                Some(first) => first.end(self.mapped.preserves).await,
            }
            match self.under_way.pop_front() {
                Some(UnderWay::Over(element)) => element,
                _ => Err(internal("an element was lost")),
            }
        })
    }

    /// Calls under way are waited for: a checkpoint has their results.
    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            for call in &mut self.under_way {
                call.end(self.mapped.preserves).await;
            }
            s.flag("ended", &mut self.ended)?;
            let mut n = self.under_way.len();
            s.number("calls", &mut n)?;
            if s.restoring() {
                self.under_way.clear();
                let n = n.min(MAX_CALLS as usize);
                reserve::room(&mut self.under_way, n)?;
                self.under_way.extend((0..n).map(|_| UnderWay::Over(Ok(None))));
            }
            for (i, call) in self.under_way.iter_mut().enumerate() {
                if let UnderWay::Over(element) = call {
                    s.outcome(&format!("call{i}"), element)?;
                }
            }
            s.input("input", &mut self.mapped.input, c).await
        })
    }
}

impl UnderWay {
    /// Waits for the call.
    async fn end(&mut self, preserves: bool) {
        if let UnderWay::Call(call) = self {
            let results = call.await;
            *self = UnderWay::Over(result(results, preserves));
        }
    }
}
