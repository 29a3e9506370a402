//! `OptionsDataset`, `ModelDataset` and others: hints and marks, which do not change the elements.

use super::context::Context;
use super::options::Options;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, tensor_of};
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
    kernels: cpu!(with_options),
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
    kernels: cpu!(run),
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
    kernels: cpu!(run),
    ..OPTIONS_DATASET
};

pub static REWRITE_DATASET: Op = Op {
    name: "RewriteDataset",
    doc: "`input_dataset`; the rewrite named changes how it runs but not its elements.",
    inputs: &["input_dataset: variant", "rewrite_name: string"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(run),
    ..OPTIONS_DATASET
};

/// The attrs of the older ones.
const TYPES: &[&str] = &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"];

pub static NON_SERIALIZABLE_DATASET: Op = Op {
    name: "NonSerializableDataset",
    doc: "`input_dataset`.",
    inputs: &["input_dataset: variant"],
    attrs: TYPES,
    kernels: cpu!(run),
    ..OPTIONS_DATASET
};

pub static EXPERIMENTAL_NON_SERIALIZABLE_DATASET: Op =
    Op { name: "ExperimentalNonSerializableDataset", ..NON_SERIALIZABLE_DATASET };

pub static OPTIMIZE_DATASET: Op = Op {
    name: "OptimizeDataset",
    doc: "`input_dataset`; the optimizations named change how it runs but not its elements.",
    inputs: &["input_dataset: variant", "optimizations: string"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "optimization_configs: list(string) = []",
    ],
    kernels: cpu!(run),
    ..OPTIONS_DATASET
};

pub static OPTIMIZE_DATASET_V2: Op = Op {
    name: "OptimizeDatasetV2",
    inputs: &[
        "input_dataset: variant",
        "optimizations_enabled: string",
        "optimizations_disabled: string",
        "optimizations_default: string",
    ],
    ..OPTIMIZE_DATASET
};

pub static MAX_INTRA_OP_PARALLELISM_DATASET: Op = Op {
    name: "MaxIntraOpParallelismDataset",
    doc: "`input_dataset`; the pool of the device decides how many threads its kernels use.",
    inputs: &["input_dataset: variant", "max_intra_op_parallelism: int64"],
    kernels: cpu!(parallelism),
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_MAX_INTRA_OP_PARALLELISM_DATASET: Op =
    Op { name: "ExperimentalMaxIntraOpParallelismDataset", ..MAX_INTRA_OP_PARALLELISM_DATASET };

pub static PRIVATE_THREAD_POOL_DATASET: Op = Op {
    name: "PrivateThreadPoolDataset",
    doc: "`input_dataset`, which runs on the pool of the device.",
    inputs: &["input_dataset: variant", "num_threads: int64"],
    kernels: cpu!(threads),
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_PRIVATE_THREAD_POOL_DATASET: Op =
    Op { name: "ExperimentalPrivateThreadPoolDataset", ..PRIVATE_THREAD_POOL_DATASET };

pub static ASSERT_NEXT_DATASET: Op = Op {
    name: "AssertNextDataset",
    doc: "`input_dataset`. What follows it is not checked: datasets are not rewritten here.",
    inputs: &["input_dataset: variant", "transformations: string"],
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_ASSERT_NEXT_DATASET: Op =
    Op { name: "ExperimentalAssertNextDataset", ..ASSERT_NEXT_DATASET };

pub static ASSERT_PREV_DATASET: Op = Op {
    name: "AssertPrevDataset",
    doc: "`input_dataset`. What precedes it is not checked: datasets are not rewritten here.",
    ..ASSERT_NEXT_DATASET
};

pub static WRAP_DATASET_VARIANT: Op = Op {
    name: "WrapDatasetVariant",
    doc: "A dataset, as a variant that other devices may hold.",
    inputs: &["input_handle: variant"],
    outputs: &["output_handle: variant"],
    attrs: &[],
    kernels: cpu!(handle),
    ..DATASET
};

pub static UNWRAP_DATASET_VARIANT: Op =
    Op { name: "UnwrapDatasetVariant", doc: "The dataset in such a variant.", ..WRAP_DATASET_VARIANT };

fn handle(c: &mut OpCall<'_>) -> Result<()> {
    let same = input(c, 0)?;
    c.set(0, tensor_of(same));
    Ok(())
}

fn with_options(c: &mut OpCall<'_>) -> Result<()> {
    Options::default().add(c.attrs().bytes("serialized_options")?)?;
    run(c)
}

/// The dataset in input 0.
pub fn run(c: &mut OpCall<'_>) -> Result<()> {
    let same = input(c, 0)?;
    emit(c, &[&same], Same(same.clone()))
}

fn parallelism(c: &mut OpCall<'_>) -> Result<()> {
    not_negative(c, "max_intra_op_parallelism")
}

fn threads(c: &mut OpCall<'_>) -> Result<()> {
    not_negative(c, "num_threads")
}

fn not_negative(c: &mut OpCall<'_>, name: &str) -> Result<()> {
    match c.scalar::<i64>(1)? {
        0.. => run(c),
        n => Err(invalid!("`{name}` must be >= 0, got {n}")),
    }
}

/// Another dataset.
pub struct Same(pub DatasetRef);

impl Dataset for Same {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        self.0.iterator(c)
    }
    fn cardinality(&self) -> i64 {
        self.0.cardinality()
    }
    fn random_access(&self) -> Result<()> {
        self.0.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.0.get(i as i64, c)
    }
}
