//! Datasets that tell a stats aggregator about their elements, in TensorFlow. Here nobody listens: they are their inputs.

use super::pass_through::{NON_SERIALIZABLE_DATASET, run};
use crate::named::OwnedResource;
use crate::prelude::*;
use std::any::Any;
use thalweg_core::resource::Resource;

pub static LATENCY_STATS_DATASET: Op = Op {
    name: "LatencyStatsDataset",
    doc: "`input_dataset`. How long its elements take is not recorded.",
    inputs: &["input_dataset: variant", "tag: string"],
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_LATENCY_STATS_DATASET: Op =
    Op { name: "ExperimentalLatencyStatsDataset", ..LATENCY_STATS_DATASET };

pub static BYTES_PRODUCED_STATS_DATASET: Op = Op {
    name: "BytesProducedStatsDataset",
    doc: "`input_dataset`. How large its elements are is not recorded.",
    ..LATENCY_STATS_DATASET
};

pub static EXPERIMENTAL_BYTES_PRODUCED_STATS_DATASET: Op =
    Op { name: "ExperimentalBytesProducedStatsDataset", ..BYTES_PRODUCED_STATS_DATASET };

pub static SET_STATS_AGGREGATOR_DATASET: Op = Op {
    name: "SetStatsAggregatorDataset",
    doc: "`input_dataset`. Nothing is recorded.",
    inputs: &[
        "input_dataset: variant",
        "stats_aggregator: resource",
        "tag: string",
        "counter_prefix: string",
    ],
    kernels: cpu!(with_aggregator),
    stateful: true,
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_SET_STATS_AGGREGATOR_DATASET: Op =
    Op { name: "ExperimentalSetStatsAggregatorDataset", ..SET_STATS_AGGREGATOR_DATASET };

pub static STATS_AGGREGATOR_HANDLE: Op = Op {
    name: "StatsAggregatorHandle",
    doc: "A handle to a stats aggregator, which stays empty.",
    outputs: &["handle: resource"],
    attrs: &["container: string = ''", "shared_name: string = ''"],
    shape: shape_call::scalar,
    kernels: cpu!(make handle),
    ..Op::STATEFUL
};

pub static STATS_AGGREGATOR_HANDLE_V2: Op = Op { name: "StatsAggregatorHandleV2", ..STATS_AGGREGATOR_HANDLE };

pub static EXPERIMENTAL_STATS_AGGREGATOR_HANDLE: Op =
    Op { name: "ExperimentalStatsAggregatorHandle", ..STATS_AGGREGATOR_HANDLE };

struct Aggregator;

impl Resource for Aggregator {
    fn kind(&self) -> &'static str {
        "StatsAggregator"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn handle(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let owned = OwnedResource::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let aggregator = owned.get(c, |_| Ok(Aggregator))?;
        owned.output_handle(c, aggregator);
        Ok(())
    }))
}

fn with_aggregator(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<Aggregator>(1)?;
    run(c)
}
