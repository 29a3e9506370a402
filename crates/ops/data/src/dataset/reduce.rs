//! `DatasetCardinality`, `ReduceDataset`, `DatasetToSingleElement`: reductions of a dataset.

use super::context::{Context, or_stopped};
use super::function::Function;
use super::get_next::{components, declared};
use super::sequence::{DatasetRef, dataset_of, later};
use super::task::Task;
use crate::parsing::wire::{Field, Fields};
use crate::prelude::*;

pub static DATASET_CARDINALITY: Op = Op {
    name: "DatasetCardinality",
    doc: "The number of elements of `input_dataset`; -1 if infinite, -2 if unknown.",
    inputs: &["input_dataset: variant"],
    outputs: &["cardinality: int64"],
    attrs: &["cardinality_options: string = ''"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(async prepare_cardinality),
    ..Op::PURE
};

pub static EXPERIMENTAL_DATASET_CARDINALITY: Op =
    Op { name: "ExperimentalDatasetCardinality", attrs: &[], ..DATASET_CARDINALITY };

/// The level of `CardinalityOptions` at which functions are run to count.
const MODERATE: u64 = 2;

struct Cardinality {
    counts: bool,
}

fn prepare_cardinality(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let mut level = 0;
    if node.attrs.get("cardinality_options").is_some() {
        let mut fields = Fields(node.attrs.bytes("cardinality_options")?);
        while let Some((number, field)) =
            fields.next().map_err(|_| invalid!("Could not parse cardinality_options"))?
        {
            if let (1, Field::Varint(n)) = (number, field) {
                level = n;
            }
        }
    }
    Ok(Arc::new(Cardinality { counts: level >= MODERATE }))
}

impl AsyncKernel for Cardinality {
    fn start(&self, call: AsyncCall, done: Done) {
        let scalar = |n: i64| outputs([Tensor::scalar(n)]);
        let dataset = match call.tensor(0).and_then(|t| dataset_of(&t)) {
            Ok(dataset) => dataset,
            Err(e) => return done(Err(e)),
        };
        if !self.counts {
            return done(Ok(scalar(dataset.cardinality())));
        }
        let device = call.step.device.clone();
        Task::start(&device, async move {
            let c = Context::of(&call.step).within(&call.step);
            done(or_stopped(Box::pin(dataset.counted(&c)), &c).await.map(scalar));
        });
    }
}

pub static REDUCE_DATASET: Op = Op {
    name: "ReduceDataset",
    doc: "Reduces the dataset by `f` of a state and an element; outputs the last state.",
    inputs: &["input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"],
    outputs: &["components: output_types"],
    attrs: &[
        "f: func",
        "Tstate: list(type) >= 1",
        "Targuments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "use_inter_op_parallelism: bool = true",
        "metadata: string = ''",
    ],
    shape: declared,
    kernels: cpu!(async prepare_reduce),
    ..Op::STATEFUL
};

pub static DATASET_TO_SINGLE_ELEMENT: Op = Op {
    name: "DatasetToSingleElement",
    doc: "The element of a dataset that has one.",
    inputs: &["dataset: variant"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "metadata: string = ''"],
    kernels: cpu!(async prepare_single),
    ..REDUCE_DATASET
};

fn prepare_reduce(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Whole { f: Some(node.attrs.func("f")?.clone()) }))
}

fn prepare_single(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Whole { f: None }))
}

/// Iterates over a dataset: to reduce it by a function, or for its single element.
struct Whole {
    f: Option<Func>,
}

impl AsyncKernel for Whole {
    fn start(&self, call: AsyncCall, done: Done) {
        let f = self.f.clone();
        let device = call.step.device.clone();
        Task::start(&device, async move {
            let result = match f {
                Some(f) => reduced(&call, f).await,
                None => single(&call).await,
            };
            done(result.and_then(|tuple| components(&call.node, tuple)).map(outputs));
        });
    }
}

async fn reduced(call: &AsyncCall, f: Func) -> Result<Vec<Tensor>> {
    let range = |arg: usize| call.node.args.get(arg).cloned().unwrap_or(0..0);
    let tensors = |arg: usize| range(arg).map(|i| call.tensor(i)).collect::<Result<Vec<_>>>();
    let (dataset, mut state, f) = (dataset_of(&call.tensor(0)?)?, tensors(1)?, Function::new(f, tensors(2)?));
    let c = Context::of(&call.step).within(&call.step);
    let mut iterator = dataset.iterator(&c)?;
    while let Some(element) = or_stopped(iterator.next(&c), &c).await? {
        state.extend(element);
        let call = later(async { f.call(&c, std::mem::take(&mut state)).await.map(Some) });
        let next = or_stopped(call, &c).await?;
        state = next.unwrap_or_default();
    }
    Ok(state)
}

async fn single(call: &AsyncCall) -> Result<Vec<Tensor>> {
    let dataset: DatasetRef = dataset_of(&call.tensor(0)?)?;
    let c = Context::of(&call.step).within(&call.step);
    let mut iterator = dataset.iterator(&c)?;
    let Some(element) = or_stopped(iterator.next(&c), &c).await? else {
        return Err(invalid!("Dataset was empty."));
    };
    match or_stopped(iterator.next(&c), &c).await? {
        None => Ok(element),
        Some(_) => Err(invalid!("Dataset had more than one element.")),
    }
}
