//! `WeightedFlatMapDataset`: as many elements of each of several datasets as its weight allows, one dataset after another.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, UNKNOWN, emit, input, later, ready,
};
use crate::prelude::*;

pub static WEIGHTED_FLAT_MAP_DATASET: Op = Op {
    name: "WeightedFlatMapDataset",
    doc: "The first elements of each of `input_datasets`, as many as its share of `weights` is.",
    inputs: &["input_datasets: N * variant", "weights: M * double"],
    attrs: &[
        "N: int >= 2",
        "M: int >= 2",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let inputs = reserve::try_collect(c.arg(0).map(|i| input(c, i)))?;
    let weights = reserve::try_collect(c.arg(1).map(|i| c.scalar::<f64>(i)))?;
    if inputs.len() != weights.len() {
        return Err(invalid!(
            "`input_datasets` and `weights` of the WeightedFlatMap must have the same size. Got {} datasets and {} weights.",
            inputs.len(),
            weights.len()
        ));
    }
    for (i, (d, w)) in inputs.iter().zip(&weights).enumerate() {
        if d.types != inputs[0].types {
            return Err(invalid!(
                "All inputs to WeightedFlatMap must have the same output types. Input {i} has output types: {:?}. \
                 Expected: {:?}.",
                d.types,
                inputs[0].types
            ));
        }
        if !(w.is_finite() && *w > 0.0) {
            return Err(invalid!("`weights` must be greater than 0.0. Input {i} has a weight of {w}"));
        }
        let kind = match d.cardinality() {
            INFINITE => "INFINITE",
            UNKNOWN => "UNKNOWN",
            _ => continue,
        };
        return Err(invalid!("Cardinalities of the inputs must be known. Input {i} has {kind} cardinality."));
    }
    let parts = parts(&inputs, &weights)?;
    let all: Vec<&DatasetRef> = inputs.iter().collect();
    emit(c, &all, WeightedFlatMap { parts: parts.into() })
}

/// The datasets, and how many elements of each there are. As in TensorFlow, the heaviest has as many as the one has that has the fewest
/// for its weight.
fn parts(inputs: &[DatasetRef], weights: &[f64]) -> Result<Vec<(DatasetRef, i64)>> {
    let size = |(d, w): (&DatasetRef, &f64)| (d.cardinality(), w * d.cardinality() as f64);
    let least = inputs.iter().zip(weights).map(size).min_by(|a, b| a.1.total_cmp(&b.1));
    let base = least.map_or(0, |(n, _)| n) as f64;
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let count = |(i, (d, w)): (usize, (&DatasetRef, &f64))| {
        let (n, have) = ((w / (heaviest / base)) as i64, d.cardinality());
        if n > have {
            return Err(invalid!(
                "Input {i} needs to have at least {n} elements. It only has {have} elements."
            ));
        }
        Ok((d.clone(), n))
    };
    reserve::try_collect(inputs.iter().zip(weights).enumerate().map(count))
}

struct WeightedFlatMap {
    parts: Arc<[(DatasetRef, i64)]>,
}

impl Dataset for WeightedFlatMap {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(WeightedFlatMapIter {
            parts: self.parts.clone(),
            at: 0,
            taken: 0,
            now: None,
            inner: c.without_cancellation(),
        }))
    }
    fn cardinality(&self) -> i64 {
        self.parts.iter().fold(0i64, |sum, (_, n)| sum.saturating_add(*n))
    }
    fn random_access(&self) -> Result<()> {
        self.parts.iter().try_for_each(|(d, _)| d.random_access())
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        let mut i = i as i64;
        for (d, n) in &*self.parts {
            if i < *n {
                return d.get(i, c);
            }
            i -= n;
        }
        ready(Ok(None))
    }
}

struct WeightedFlatMapIter {
    parts: Arc<[(DatasetRef, i64)]>,
    /// The number of the dataset, and how many elements of it were taken.
    at: usize,
    taken: i64,
    now: Option<Box<dyn Iter>>,
    inner: Context,
}

impl Iter for WeightedFlatMapIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while let Some((dataset, n)) = self.parts.get(self.at) {
                c.check()?;
                if self.taken < *n {
                    let now = match &mut self.now {
                        Some(now) => now,
                        none => none.insert(dataset.iterator(&self.inner)?),
                    };
                    if let Some(element) = now.next(c).await? {
                        self.taken += 1;
                        return Ok(Some(element));
                    }
                }
                (self.at, self.taken, self.now) = (self.at + 1, 0, None);
            }
            Ok(None)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("at", &mut self.at)?;
            s.number("taken", &mut self.taken)?;
            let (parts, at, inner) = (&self.parts, self.at, &self.inner);
            let open = || match parts.get(at) {
                Some((dataset, _)) => dataset.iterator(inner),
                None => Err(invalid!("the state of an iterator has dataset {at}, of {}", parts.len())),
            };
            s.input_or_none("now", &mut self.now, open, c).await
        })
    }
}
