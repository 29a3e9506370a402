//! `DirectedInterleaveDataset`: elements of several datasets, in the order that another one tells.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later};
use crate::prelude::*;

pub static DIRECTED_INTERLEAVE_DATASET: Op = Op {
    name: "DirectedInterleaveDataset",
    doc: "The next element of the dataset whose number is the next element of `selector_input_dataset`.",
    inputs: &["selector_input_dataset: variant", "data_input_datasets: N * variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "N: int >= 1",
        "stop_on_empty_dataset: bool = false",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static EXPERIMENTAL_DIRECTED_INTERLEAVE_DATASET: Op = Op {
    name: "ExperimentalDirectedInterleaveDataset",
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1"],
    ..DIRECTED_INTERLEAVE_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let selector = input(c, 0)?;
    if selector.types != [DataType::Int64] {
        return Err(invalid!(
            "The selector input must be a dataset of scalar int64 elements, got {:?}",
            selector.types
        ));
    }
    let inputs: Vec<DatasetRef> = (1..c.inputs.len()).map(|i| input(c, i)).collect::<Result<_>>()?;
    if let Some(odd) = inputs.iter().find(|d| d.types != inputs[0].types) {
        return Err(invalid!(
            "All data inputs must have the same types, got {:?} and {:?}",
            inputs[0].types,
            odd.types
        ));
    }
    let stops =
        c.attrs().get("stop_on_empty_dataset").is_some() && c.attrs().bool("stop_on_empty_dataset")?;
    let all: Vec<&DatasetRef> = std::iter::once(&selector).chain(&inputs).collect();
    emit(c, &all, Directed { selector: selector.clone(), inputs: inputs.clone(), stops })
}

struct Directed {
    selector: DatasetRef,
    inputs: Vec<DatasetRef>,
    /// Ends with the first dataset that does.
    stops: bool,
}

impl Dataset for Directed {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let open = |d: &DatasetRef| d.iterator(c).map(Some);
        let inputs = reserve::try_collect(self.inputs.iter().map(open))?;
        Ok(Box::new(DirectedIter { selector: Some(self.selector.iterator(c)?), inputs, stops: self.stops }))
    }
    fn cardinality(&self) -> i64 {
        if self.inputs.iter().any(|d| d.cardinality() == INFINITE) { INFINITE } else { UNKNOWN }
    }
}

struct DirectedIter {
    selector: Option<Box<dyn Iter>>,
    /// `None` once ended.
    inputs: Vec<Option<Box<dyn Iter>>>,
    stops: bool,
}

impl Iter for DirectedIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while self.inputs.iter().any(Option::is_some) {
                c.check()?;
                let Some(selector) = &mut self.selector else { break };
                let Some(chosen) = selector.next(c).await? else { break };
                let chosen = match &chosen[..] {
                    [one] if one.elements() == 1 => one.to_scalar::<i64>()?,
                    _ => return Err(invalid!("a selector must be a scalar int64")),
                };
                let count = self.inputs.len();
                let Some(input) = usize::try_from(chosen).ok().and_then(|i| self.inputs.get_mut(i)) else {
                    return Err(invalid!("Selector index out of range: {chosen} >= {count}"));
                };
                let Some(open) = input else { continue };
                if let Some(element) = open.next(c).await? {
                    return Ok(Some(element));
                }
                *input = None;
                if self.stops {
                    break;
                }
            }
            self.selector = None;
            Ok(None)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.input_until_end("selector", &mut self.selector, c).await?;
            for (i, input) in self.inputs.iter_mut().enumerate() {
                s.input_until_end(&format!("input{i}"), input, c).await?;
            }
            Ok(())
        })
    }
}
