//! `ChooseFastestDataset`, `ChooseFastestBranchDataset`: one of several ways to make the same elements. It is always the first.

use super::context::Context;
use super::function::{Function, Transformed};
use super::pass_through::Same;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, UNKNOWN, emit, input, tensor_of};
use crate::prelude::*;

pub static CHOOSE_FASTEST_DATASET: Op = Op {
    name: "ChooseFastestDataset",
    doc: "The elements of the first of datasets that all have the same elements.",
    inputs: &["input_datasets: N * variant"],
    attrs: &[
        "N: int >= 2",
        "num_experiments: int",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(one_of),
    ..DATASET
};

pub static EXPERIMENTAL_CHOOSE_FASTEST_DATASET: Op =
    Op { name: "ExperimentalChooseFastestDataset", ..CHOOSE_FASTEST_DATASET };

pub static CHOOSE_FASTEST_BRANCH_DATASET: Op = Op {
    name: "ChooseFastestBranchDataset",
    doc: "What the first of `branches` makes of `input_dataset`, where all of them make the same of it.",
    inputs: &[
        "input_dataset: variant",
        "ratio_numerator: int64",
        "ratio_denominator: int64",
        "other_arguments: Targuments",
    ],
    attrs: &[
        "Targuments: list(type) >= 0",
        "num_elements_per_branch: int >= 1",
        "branches: list(func) >= 1",
        "other_arguments_lengths: list(int) >= 1",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(branch),
    ..DATASET
};

fn one_of(c: &mut OpCall<'_>) -> Result<()> {
    let inputs = reserve::try_collect((0..c.inputs.len()).map(|i| input(c, i)))?;
    let Some(first) = inputs.first() else { return Err(invalid!("no dataset to choose from")) };
    let mut n = first.cardinality();
    for (i, other) in inputs.iter().enumerate() {
        if other.types != first.types {
            return Err(invalid!(
                "All inputs to ChooseFastestDataset must have the same output types. Input {i} has output types: {:?}. \
                 Expected: {:?}.",
                other.types,
                first.types
            ));
        }
        match other.cardinality() {
            UNKNOWN => {}
            known if n == UNKNOWN || n == known => n = known,
            known => {
                return Err(invalid!(
                    "All inputs to ChooseFastestDataset must have compatible cardinalities. Input {i} has cardinality: \
                     {known}, while all prior inputs have cardinality: {n}."
                ));
            }
        }
    }
    let all: Vec<&DatasetRef> = inputs.iter().collect();
    emit(c, &all, Same(first.clone()))
}

fn branch(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let positive = |i: usize, name: &str| match c.scalar::<i64>(i)? {
        n @ 1.. => Ok(n),
        _ => Err(invalid!("`{name}` must be greater than zero.")),
    };
    let ratio = (positive(1, "ratio_numerator")?, positive(2, "ratio_denominator")?);
    let (branches, lengths) = (c.attrs().funcs("branches")?, c.attrs().ints("other_arguments_lengths")?);
    if branches.len() != lengths.len() {
        return Err(invalid!("branches and other_arguments_lengths must have the same length."));
    }
    let others = c.arg(3);
    let total = lengths.iter().try_fold(0i64, |sum, n| if *n < 0 { None } else { sum.checked_add(*n) });
    let (Some(first), Some(count), true) =
        (branches.first(), lengths.first(), total == i64::try_from(others.len()).ok())
    else {
        return Err(invalid!(
            "other_arguments_lengths must sum up to the number of other arguments, which is {}",
            others.len()
        ));
    };
    let captured = reserve::try_collect(others.take(*count as usize).map(|i| c.input(i).cloned()))?;
    let f = Function::in_library(c, first, captured);
    emit(c, &[&input], Branch { input: input.clone(), f, ratio })
}

struct Branch {
    input: DatasetRef,
    f: Function,
    /// The number of elements for each that the input has, as a fraction.
    ratio: (i64, i64),
}

impl Dataset for Branch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(Transformed::new(&self.f, tensor_of(self.input.clone()), c)))
    }
    fn cardinality(&self) -> i64 {
        match self.input.cardinality() {
            n @ (INFINITE | UNKNOWN) => n,
            n => {
                let (more, fewer) = self.ratio;
                i64::try_from(i128::from(n) * i128::from(more) / i128::from(fewer)).unwrap_or(i64::MAX)
            }
        }
    }
}
