//! `ParseExampleDataset`, `ParseExampleDatasetV2`: the features of the Examples in each element.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::map::calls_at_once;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later};
use crate::held::{Held, Ragged};
use crate::parsing::batch::Batch;
use crate::parsing::parse_example::{Features, Keys, Results, Settings};
use crate::prelude::*;
use thalweg_math::parallel::Parallel;

pub static PARSE_EXAMPLE_DATASET_V2: Op = Op {
    name: "ParseExampleDatasetV2",
    doc: "The features of the serialized Examples in each element, in the order of their keys; sparse and ragged ones as variants.",
    inputs: &["input_dataset: variant", "num_parallel_calls: int64", "dense_defaults: Tdense"],
    attrs: &[
        "sparse_keys: list(string) >= 0",
        "dense_keys: list(string) >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "Tdense: list({float, int64, string}) >= 0",
        "dense_shapes: list(shape) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "deterministic: string = 'default'",
        "ragged_keys: list(string) >= 0 = []",
        "ragged_value_types: list({float, int64, string}) >= 0 = []",
        "ragged_split_types: list({int32, int64}) >= 0 = []",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static PARSE_EXAMPLE_DATASET: Op = Op {
    name: "ParseExampleDataset",
    attrs: &[
        "sparse_keys: list(string) >= 0",
        "dense_keys: list(string) >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "Tdense: list({float, int64, string}) >= 0",
        "dense_shapes: list(shape) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "sloppy: bool = false",
        "ragged_keys: list(string) >= 0 = []",
        "ragged_value_types: list({float, int64, string}) >= 0 = []",
        "ragged_split_types: list({int32, int64}) >= 0 = []",
    ],
    ..PARSE_EXAMPLE_DATASET_V2
};

pub static EXPERIMENTAL_PARSE_EXAMPLE_DATASET: Op = Op {
    name: "ExperimentalParseExampleDataset",
    attrs: &[
        "sparse_keys: list(string) >= 0",
        "dense_keys: list(string) >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "Tdense: list({float, int64, string}) >= 0",
        "dense_shapes: list(shape) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "sloppy: bool = false",
    ],
    ..PARSE_EXAMPLE_DATASET_V2
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    // One element at a time, but each on all threads.
    calls_at_once(c, 1)?;
    let input = input(c, 0)?;
    let features = Settings::of(c.attrs(), Keys::Attrs)?.features(c, 2)?;
    let (types, shapes) = (c.attrs().types("output_types")?, c.attrs().shapes("output_shapes")?);
    let mut by_key = reserve::collect(0..features.wants.len())?;
    by_key.sort_unstable_by(|a, b| features.wants[*a].key.cmp(&features.wants[*b].key));
    for pair in by_key.windows(2) {
        let [key, next] = [pair[0], pair[1]].map(|i| &features.wants[i].key);
        if key == next {
            return Err(invalid!("Duplicate key not allowed: {}", Lossy(key)));
        }
    }
    if types.len() != by_key.len() || shapes.len() != by_key.len() {
        return Err(invalid!(
            "{} features were asked for, and {} output types and {} output shapes declared",
            by_key.len(),
            types.len(),
            shapes.len()
        ));
    }
    let parse = Parse { features, by_key, declared: types.into_iter().zip(shapes).collect() };
    emit(c, &[&input], ParseExamples { input: input.clone(), parse: Arc::new(parse) })
}

struct Parse {
    features: Features,
    /// The number of the feature that each component is.
    by_key: Vec<usize>,
    declared: Vec<(DataType, PartialShape)>,
}

impl Parse {
    fn run(&self, element: &Tuple, par: &dyn Parallel) -> Result<Tuple> {
        let mut rows = Vec::new();
        for t in element {
            reserve::extend(&mut rows, t.strings()?)?;
        }
        let batch = Batch { rows: &rows, names: &[], single: false };
        let Results { dense, sparse, ragged } = self.features.parse(&batch, par)?;
        let mut all = dense;
        for parts in sparse {
            let parts = parts.into_iter().map(|t| Variant::new(Held(t))).collect();
            reserve::push(&mut all, Tensor::from_objects(Shape::vector(3), parts)?)?;
        }
        for [values, splits] in ragged {
            let held = Ragged { splits: vec![splits], values };
            reserve::push(&mut all, Tensor::from_object(Variant::new(held)))?;
        }
        let ordered = self.by_key.iter().zip(&self.declared).map(|(i, (dtype, shape))| {
            let t = all.get(*i).cloned().ok_or_else(|| internal("a feature is missing"))?;
            // The shapes declared for variants are those of the tensors in them.
            let fits = t.dtype() == *dtype && (*dtype == DataType::Variant || shape.allows(t.shape()));
            if !fits {
                return Err(invalid!(
                    "feature '{}' is {} of shape {}, declared were {dtype} and {shape}",
                    Lossy(&self.features.wants[*i].key),
                    t.dtype(),
                    t.shape()
                ));
            }
            Ok(t)
        });
        reserve::try_collect(ordered)
    }
}

struct ParseExamples {
    input: DatasetRef,
    parse: Arc<Parse>,
}

impl Dataset for ParseExamples {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ParseIter { input: self.input.iterator(c)?, parse: self.parse.clone() }))
    }
    fn cardinality(&self) -> i64 {
        self.input.cardinality()
    }
}

struct ParseIter {
    input: Box<dyn Iter>,
    parse: Arc<Parse>,
}

impl Iter for ParseIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            match self.input.next(c).await? {
                Some(element) => self.parse.run(&element, &*c.device()?.pool).map(Some),
                None => Ok(None),
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input("input", &mut self.input, c).await })
    }
}
