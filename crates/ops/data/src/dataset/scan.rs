//! `ScanDataset`: a function of a state and each element, which gives the next state and an element.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::Function;
use super::map::result;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static SCAN_DATASET: Op = Op {
    name: "ScanDataset",
    doc: "Function `f` of a state and each element of `input_dataset`: the next state, then what it gives.",
    inputs: &["input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"],
    attrs: &[
        "f: func",
        "Tstate: list(type) >= 1",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "preserve_cardinality: bool = false",
        "use_default_device: bool = true",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static EXPERIMENTAL_SCAN_DATASET: Op = Op {
    name: "ExperimentalScanDataset",
    attrs: &[
        "f: func",
        "Tstate: list(type) >= 1",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "preserve_cardinality: bool = false",
    ],
    ..SCAN_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, f) = (input(c, 0)?, Function::of(c, "f", 2)?);
    let state: Tuple = c.arg(1).map(|i| c.input(i).cloned()).collect::<Result<_>>()?;
    let (preserves, outputs) =
        (c.attrs().bool("preserve_cardinality")?, c.attrs().types("output_types")?.len());
    emit(c, &[&input], Scan { input: input.clone(), f, state: Arc::new(state), outputs, preserves })
}

struct Scan {
    input: DatasetRef,
    f: Function,
    state: Arc<Tuple>,
    /// Components of an element.
    outputs: usize,
    preserves: bool,
}

impl Dataset for Scan {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ScanIter {
            input: self.input.iterator(c)?,
            f: self.f.clone(),
            state: self.state.to_vec(),
            outputs: self.outputs,
            preserves: self.preserves,
        }))
    }
    fn cardinality(&self) -> i64 {
        if self.preserves { self.input.cardinality() } else { UNKNOWN }
    }
}

struct ScanIter {
    input: Box<dyn Iter>,
    f: Function,
    state: Tuple,
    outputs: usize,
    preserves: bool,
}

impl Iter for ScanIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let Some(element) = self.input.next(c).await? else { return Ok(None) };
            let mut args = self.state.clone();
            args.extend(element);
            let Some(mut results) = result(self.f.call(c, args).await, self.preserves)? else {
                return Ok(None);
            };
            if results.len() != self.state.len() + self.outputs {
                return Err(invalid!(
                    "the function of a scan gave {} values, not a state of {} and an element of {}",
                    results.len(),
                    self.state.len(),
                    self.outputs
                ));
            }
            if let Some(i) = (0..self.state.len()).find(|i| results[*i].dtype() != self.state[*i].dtype()) {
                return Err(invalid!(
                    "Got wrong type for scan_func return value {i} (expected {}, got {}).",
                    self.state[i].dtype(),
                    results[i].dtype()
                ));
            }
            let element = results.split_off(self.state.len());
            self.state = results;
            Ok(Some(element))
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.tuple("state", &mut self.state)?;
            s.input("input", &mut self.input, c).await
        })
    }
}
