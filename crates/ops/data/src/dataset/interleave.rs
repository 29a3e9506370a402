//! `InterleaveDataset` and its parallel forms: the datasets that a function maps elements to, in round-robin order.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::{Function, Opened};
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static INTERLEAVE_DATASET: Op = Op {
    name: "InterleaveDataset",
    doc: "`block_length` elements at a time from each of `cycle_length` datasets that `f` makes of elements, round-robin.",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "cycle_length: int64",
        "block_length: int64",
    ],
    attrs: super::flat_map::FLAT_MAP_DATASET.attrs,
    kernels: cpu!(run),
    ..DATASET
};

/// The parallel forms return the same elements in the same order; inputs are read sequentially.
pub static PARALLEL_INTERLEAVE_DATASET_V2: Op = Op {
    name: "ParallelInterleaveDatasetV2",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "cycle_length: int64",
        "block_length: int64",
        "num_parallel_calls: int64",
    ],
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "sloppy: bool = false",
        "metadata: string = ''",
    ],
    ..INTERLEAVE_DATASET
};

pub static PARALLEL_INTERLEAVE_DATASET_V3: Op = Op {
    name: "ParallelInterleaveDatasetV3",
    attrs: &[
        "f: func",
        "deterministic: string = 'default'",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    ..PARALLEL_INTERLEAVE_DATASET_V2
};

pub static PARALLEL_INTERLEAVE_DATASET_V4: Op = Op {
    name: "ParallelInterleaveDatasetV4",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "cycle_length: int64",
        "block_length: int64",
        "buffer_output_elements: int64",
        "prefetch_input_elements: int64",
        "num_parallel_calls: int64",
    ],
    ..PARALLEL_INTERLEAVE_DATASET_V3
};

/// The oldest parallel form. Its order is that of the others.
pub static PARALLEL_INTERLEAVE_DATASET: Op = Op {
    name: "ParallelInterleaveDataset",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "cycle_length: int64",
        "block_length: int64",
        "sloppy: bool",
        "buffer_output_elements: int64",
        "prefetch_input_elements: int64",
    ],
    ..INTERLEAVE_DATASET
};

pub static EXPERIMENTAL_PARALLEL_INTERLEAVE_DATASET: Op = Op {
    name: "ExperimentalParallelInterleaveDataset",
    attrs: &[
        "f: func",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..PARALLEL_INTERLEAVE_DATASET
};

pub static LEGACY_PARALLEL_INTERLEAVE_DATASET_V2: Op = Op {
    name: "LegacyParallelInterleaveDatasetV2",
    inputs: &[
        "input_dataset: variant",
        "other_arguments: Targuments",
        "cycle_length: int64",
        "block_length: int64",
        "buffer_output_elements: int64",
        "prefetch_input_elements: int64",
    ],
    ..PARALLEL_INTERLEAVE_DATASET_V3
};

/// Most datasets open in one cycle.
const MAX_CYCLE: i64 = 1 << 16;

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, f) = (input(c, 0)?, Function::of(c, "f", 1)?);
    let number = |arg: usize| match c.arg(arg).next() {
        Some(i) => c.scalar::<i64>(i),
        None => Err(internal("a number is missing")),
    };
    let cycle = match number(2)? {
        -1 => c.par().threads(),
        n if (1..=MAX_CYCLE).contains(&n) => n as usize,
        n => {
            return Err(invalid!(
                "`cycle_length` must be greater than zero and at most {MAX_CYCLE}, got {n}."
            ));
        }
    };
    let parallel = c.node.args.len() > 4;
    let block = match number(3)? {
        n if n > 0 => n,
        n => return Err(invalid!("`block_length` must be greater than zero, got {n}.")),
    };
    emit(c, &[&input], Interleave { input: input.clone(), f, cycle, block, parallel })
}

struct Interleave {
    input: DatasetRef,
    f: Function,
    cycle: usize,
    block: i64,
    /// One of the parallel ops, which know when they are infinite.
    parallel: bool,
}

impl Dataset for Interleave {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(InterleaveIter {
            input: Some(self.input.iterator(c)?),
            f: self.f.clone(),
            cycle: self.cycle,
            block: self.block,
            slots: Vec::new(),
            at: 0,
            taken: 0,
            inner: c.without_cancellation(),
        }))
    }
    fn cardinality(&self) -> i64 {
        match self.input.cardinality() {
            INFINITE if self.parallel => INFINITE,
            _ => UNKNOWN,
        }
    }
}

struct InterleaveIter {
    input: Option<Box<dyn Iter>>,
    f: Function,
    cycle: usize,
    block: i64,
    /// Slots of the cycle used so far, at most `cycle`.
    slots: Vec<Option<Opened>>,
    at: usize,
    /// Elements taken from this slot in this block.
    taken: i64,
    inner: Context,
}

impl Iter for InterleaveIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while self.input.is_some() || self.slots.iter().any(Option::is_some) {
                c.check()?;
                if let Some(Some(open)) = self.slots.get_mut(self.at) {
                    match open.iter.next(c).await? {
                        Some(element) => {
                            self.taken += 1;
                            if self.taken == self.block {
                                self.advance();
                            }
                            return Ok(Some(element));
                        }
                        None => {
                            self.close();
                            self.advance();
                        }
                    }
                } else if let Some(input) = &mut self.input {
                    match input.next(c).await? {
                        Some(element) => {
                            let opened = Opened::of(&self.f, element, c, &self.inner).await?;
                            self.open(opened)?;
                        }
                        None => self.input = None,
                    }
                } else {
                    self.advance();
                }
            }
            Ok(None)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.input_until_end("input", &mut self.input, c).await?;
            s.number("at", &mut self.at)?;
            s.number("taken", &mut self.taken)?;
            let mut slots = self.slots.len();
            s.number("slots", &mut slots)?;
            if slots > self.cycle || self.at >= self.cycle || !(0..self.block).contains(&self.taken) {
                return Err(invalid!("the state of an interleave is one of a longer cycle"));
            }
            if s.restoring() {
                self.slots.clear();
                reserve::room(&mut self.slots, slots)?;
                self.slots.resize_with(slots, || None);
            }
            for (i, slot) in self.slots.iter_mut().enumerate() {
                Opened::checkpoint(slot, &format!("slot{i}"), s, (&self.f, &self.inner), c).await?;
            }
            Ok(())
        })
    }
}

impl InterleaveIter {
    fn open(&mut self, iterator: Opened) -> Result<()> {
        match self.slots.get_mut(self.at) {
            Some(place) => *place = Some(iterator),
            None => {
                self.at = self.slots.len();
                reserve::push(&mut self.slots, Some(iterator))?;
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        if let Some(place) = self.slots.get_mut(self.at) {
            *place = None;
        }
    }

    /// Advances to the next slot. Slots past those used so far are empty, and are skipped once the input has ended.
    fn advance(&mut self) {
        self.taken = 0;
        let turns = if self.input.is_some() { self.cycle } else { self.slots.len() };
        self.at = if self.at + 1 < turns { self.at + 1 } else { 0 };
    }
}
