//! `ComputeBatchSize`: the size of a dataset's batches, from the nodes that made it.

use super::sequence::{DatasetRef, Maker, input};
use crate::prelude::*;
use std::collections::HashMap;

pub static COMPUTE_BATCH_SIZE: Op = Op {
    name: "ComputeBatchSize",
    doc: "The size of the batches that a dataset's elements are; -1 if that is not known without running it.",
    inputs: &["input_dataset: variant"],
    outputs: &["batch_size: int64"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    ..Op::PURE
};

const UNKNOWN: i64 = -1;

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let size = batch_size(&input(c, 0)?, &mut HashMap::new())?;
    c.set(0, Tensor::scalar(size));
    Ok(())
}

/// What an op does with batches.
enum Use {
    /// Makes them, of the size in this input, counted from the end if it is negative.
    Makes(isize),
    /// Its elements are those of its inputs, as far as their batches are of one size.
    Keeps,
    Other,
}

/// The ops that TensorFlow knows here, of all versions.
fn use_of(node: &Maker) -> Use {
    let op = node.op.trim_start_matches("Experimental");
    match op.trim_end_matches(|d: char| d.is_ascii_digit()).trim_end_matches('V') {
        "BatchDataset" | "PaddedBatchDataset" => Use::Makes(1),
        "MapAndBatchDataset" => Use::Makes(-3),
        "AssertCardinalityDataset"
        | "CacheDataset"
        | "ConcatenateDataset"
        | "FilterDataset"
        | "FinalizeDataset"
        | "ModelDataset"
        | "OptionsDataset"
        | "ParseExampleDataset"
        | "PrefetchDataset"
        | "RepeatDataset"
        | "ShardDataset"
        | "ShuffleAndRepeatDataset"
        | "ShuffleDataset"
        | "SkipDataset"
        | "TakeDataset"
        | "ZipDataset" => Use::Keeps,
        _ => Use::Other,
    }
}

/// `known`: of the datasets that were asked before, by address. Datasets nest no deeper than `MAX_DEPTH`.
fn batch_size(dataset: &DatasetRef, known: &mut HashMap<usize, i64>) -> Result<i64> {
    if let Some(size) = known.get(&dataset.address()) {
        return Ok(*size);
    }
    let Some(node) = dataset.node() else { return Ok(UNKNOWN) };
    let size = match use_of(node) {
        Use::Makes(at) => {
            let at = if at < 0 { node.inputs.len().checked_add_signed(at) } else { at.try_into().ok() };
            node.inputs.get(at.unwrap_or(usize::MAX)).map_or(Ok(UNKNOWN), Tensor::to_scalar)?
        }
        Use::Keeps => {
            let mut of_inputs = Vec::new();
            for input in dataset.inputs() {
                reserve::push(&mut of_inputs, batch_size(input, known)?)?;
            }
            match of_inputs.first() {
                Some(first) if of_inputs.iter().all(|size| size == first) => *first,
                _ => UNKNOWN,
            }
        }
        Use::Other => UNKNOWN,
    };
    reserve::room(known, 1)?;
    known.insert(dataset.address(), size);
    Ok(size)
}
