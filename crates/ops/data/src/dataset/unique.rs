//! `UniqueDataset`, `IgnoreErrorsDataset`: elements not seen before; elements that are not errors.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, later};
use crate::prelude::*;
use bytes::Bytes;
use std::collections::HashSet;

pub static UNIQUE_DATASET: Op = Op {
    name: "UniqueDataset",
    doc: "The elements of `input_dataset` without those that came before.",
    inputs: &["input_dataset: variant"],
    kernels: cpu!(unique),
    ..DATASET
};

pub static EXPERIMENTAL_UNIQUE_DATASET: Op = Op {
    name: "ExperimentalUniqueDataset",
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    ..UNIQUE_DATASET
};

pub static IGNORE_ERRORS_DATASET: Op = Op {
    name: "IgnoreErrorsDataset",
    doc: "The elements of `input_dataset` without those that are errors.",
    inputs: &["input_dataset: variant"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "log_warning: bool = false"],
    kernels: cpu!(ignore_errors),
    ..DATASET
};

pub static EXPERIMENTAL_IGNORE_ERRORS_DATASET: Op =
    Op { name: "ExperimentalIgnoreErrorsDataset", ..IGNORE_ERRORS_DATASET };

fn unique(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    if !matches!(input.types[..], [DataType::Int32 | DataType::Int64 | DataType::String]) {
        return Err(invalid!(
            "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component."
        ));
    }
    emit(c, &[&input], Unique(input.clone()))
}

struct Unique(DatasetRef);

impl Dataset for Unique {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = self.0.iterator(c)?;
        Ok(Box::new(UniqueIter { input, seen: HashSet::new(), elements: ElementBuffer::default() }))
    }
}

struct UniqueIter {
    input: Box<dyn Iter>,
    /// Shapes and contents of the elements.
    seen: HashSet<(Shape, Bytes)>,
    elements: ElementBuffer,
}

impl Iter for UniqueIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                let Some(element) = self.input.next(c).await? else { return Ok(None) };
                let key = key(element.first().ok_or_else(|| internal("an element without a component"))?)?;
                reserve::room(&mut self.seen, 1)?;
                if !self.seen.contains(&key) {
                    self.elements.push(element.clone())?;
                    self.seen.insert(key);
                    return Ok(Some(element));
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.elements("seen", &mut self.elements)?;
            if s.restoring() {
                self.seen.clear();
                reserve::room(&mut self.seen, self.elements.len())?;
                for t in (0..self.elements.len()).filter_map(|i| self.elements.get(i)?.first()) {
                    self.seen.insert(key(t)?);
                }
            }
            s.input("input", &mut self.input, c).await
        })
    }
}

/// What equal elements have in common. A string after its length, so that `a, bc` and `ab, c` differ.
fn key(t: &Tensor) -> Result<(Shape, Bytes)> {
    let mut content = Vec::new();
    if t.dtype() == DataType::String {
        for text in t.strings()? {
            reserve::extend(&mut content, &text.len().to_le_bytes())?;
            reserve::extend(&mut content, text)?;
        }
    } else {
        content = reserve::copied(t.bytes()?)?;
    }
    Ok((t.shape().clone(), content.into()))
}

fn ignore_errors(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    emit(c, &[&input], IgnoreErrors(input.clone()))
}

struct IgnoreErrors(DatasetRef);

impl Dataset for IgnoreErrors {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(WithoutErrors(self.0.iterator(c)?)))
    }
}

struct WithoutErrors(Box<dyn Iter>);

impl Iter for WithoutErrors {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                match self.0.next(c).await {
                    Err(e) if e.code() != Code::Cancelled => {}
                    element => return element,
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input("input", &mut self.0, c).await })
    }
}
