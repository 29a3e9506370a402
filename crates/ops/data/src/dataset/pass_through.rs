//! `OptionsDataset`, `ModelDataset`, `FinalizeDataset`, `RewriteDataset`: performance hints, which do not change the elements.

use super::sequence::{DATASET, input, tensor_of};
use crate::prelude::*;

pub static OPTIONS_DATASET: Op = Op {
    name: "OptionsDataset",
    doc: "`input_dataset`, with options that change how it runs but not its elements.",
    inputs: &["input_dataset: variant"],
    attrs: &[
        "serialized_options: string",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static MODEL_DATASET: Op = Op {
    name: "ModelDataset",
    doc: "`input_dataset`, marked for autotuning.",
    attrs: &[
        "algorithm: int = 0",
        "cpu_budget: int = 0",
        "ram_budget: int = 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..OPTIONS_DATASET
};

pub static FINALIZE_DATASET: Op = Op {
    name: "FinalizeDataset",
    doc: "`input_dataset`, complete.",
    attrs: &[
        "has_captured_ref: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..OPTIONS_DATASET
};

pub static REWRITE_DATASET: Op = Op {
    name: "RewriteDataset",
    doc: "`input_dataset`; the rewrite named changes how it runs but not its elements.",
    inputs: &["input_dataset: variant", "rewrite_name: string"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    ..OPTIONS_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let same = input(c, 0)?;
    c.set(0, tensor_of(same));
    Ok(())
}
