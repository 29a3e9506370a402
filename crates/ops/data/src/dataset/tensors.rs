//! `TensorDataset`, `TensorSliceDataset`: tensors as one element, or sliced.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, Iter, Next, SOURCE, Tuple, emit, ready};
use crate::prelude::*;
use crate::rows::row;

pub static TENSOR_DATASET: Op = Op {
    name: "TensorDataset",
    doc: "One element: the tensors `components`.",
    inputs: &["components: Toutput_types"],
    attrs: &["Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "metadata: string = ''"],
    kernels: cpu!(whole),
    ..SOURCE
};

pub static TENSOR_SLICE_DATASET: Op = Op {
    name: "TensorSliceDataset",
    doc: "The rows of `components`, along their first dimension, one after another.",
    inputs: &["components: Toutput_types"],
    attrs: &[
        "Toutput_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "is_files: bool = false",
        "metadata: string = ''",
        "replicate_on_split: bool = false",
    ],
    kernels: cpu!(sliced),
    ..SOURCE
};

fn components(c: &OpCall<'_>) -> Result<Tuple> {
    (0..c.inputs.len()).map(|i| c.input(i).cloned()).collect()
}

fn whole(c: &mut OpCall<'_>) -> Result<()> {
    let components = Arc::new(components(c)?);
    emit(c, &[], Whole(components))
}

struct Whole(Arc<Tuple>);

impl Dataset for Whole {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(WholeIter(Some(self.0.clone()))))
    }
    fn cardinality(&self) -> i64 {
        1
    }
    fn random_access(&self) -> Result<()> {
        Ok(())
    }
    fn get<'a>(&'a self, i: usize, _: &'a Context) -> Next<'a> {
        let _ = i;
        ready(Ok(Some(self.0.to_vec())))
    }
}

struct WholeIter(Option<Arc<Tuple>>);

impl Iter for WholeIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(Ok(self.0.take().map(|t| t.to_vec())))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        let mut given = self.0.is_none();
        let read = s.flag("given", &mut given);
        if given {
            self.0 = None;
        }
        done(read)
    }
}

fn sliced(c: &mut OpCall<'_>) -> Result<()> {
    let components = components(c)?;
    let mut rows = None;
    for (i, t) in components.iter().enumerate() {
        let Some(n) = t.shape().first().copied() else {
            return Err(invalid!(
                "All components must be at least 1-dimensional, but component {i} is a scalar"
            ));
        };
        if *rows.get_or_insert(n) != n {
            return Err(invalid!(
                "All components must have the same size in the 0th dimension, but component {i} has {n} and \
                 component 0 has {}",
                rows.unwrap_or(0)
            ));
        }
    }
    emit(c, &[], Slices { components: Arc::new(components), rows: rows.unwrap_or(0) })
}

#[derive(Clone)]
struct Slices {
    components: Arc<Tuple>,
    rows: usize,
}

impl Dataset for Slices {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(SlicesIter { slices: self.clone(), at: 0 }))
    }
    fn cardinality(&self) -> i64 {
        self.rows as i64
    }
    fn random_access(&self) -> Result<()> {
        Ok(())
    }
    fn get<'a>(&'a self, i: usize, _: &'a Context) -> Next<'a> {
        ready(self.components.iter().map(|t| row(t, i)).collect::<Result<Tuple>>().map(Some))
    }
}

struct SlicesIter {
    slices: Slices,
    at: usize,
}

impl Iter for SlicesIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        if self.at >= self.slices.rows {
            return ready(Ok(None));
        }
        let rows: Result<Tuple> = self.slices.components.iter().map(|t| row(t, self.at)).collect();
        self.at += 1;
        ready(rows.map(Some))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(s.number("at", &mut self.at))
    }
}
