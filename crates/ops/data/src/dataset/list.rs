//! `List`: a dataset of elements in memory, such as a window of another one. It can be put into messages, so that a saved position
//! may hold windows.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, DatasetRef, Iter, Next, Tuple, TypedDataset, ready};
use crate::prelude::*;
use thalweg_core::tensor::EncodedVariant;

pub struct List(Arc<Vec<Tuple>>);

/// A dataset of these elements.
pub fn list(types: Vec<DataType>, shapes: Vec<PartialShape>, elements: Vec<Tuple>) -> Result<DatasetRef> {
    TypedDataset::new(types, shapes, &[], List(Arc::new(elements)))
}

impl Dataset for List {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(ListIter { elements: self.0.clone(), at: 0 }))
    }
    fn cardinality(&self) -> i64 {
        self.0.len() as i64
    }
    fn random_access(&self) -> Result<()> {
        Ok(())
    }
    fn get<'a>(&'a self, i: usize, _: &'a Context) -> Next<'a> {
        ready(Ok(self.0.get(i).cloned()))
    }
    fn elements(&self) -> Option<&[Tuple]> {
        Some(&self.0)
    }
}

struct ListIter {
    elements: Arc<Vec<Tuple>>,
    at: usize,
}

impl Iter for ListIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        let element = self.elements.get(self.at).cloned();
        self.at = self.at.saturating_add(1);
        ready(Ok(element))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(s.number("at", &mut self.at))
    }
}

pub const TYPE_NAME: &str = "tensorflow::DatasetVariantWrapper";

/// A list of elements for messages: the types as metadata, and all components in sequence.
pub fn encode(types: &[DataType], elements: &[Tuple]) -> Result<EncodedVariant> {
    let mut numbers = Vec::new();
    for t in types {
        reserve::extend(&mut numbers, &t.wire().to_le_bytes())?;
    }
    let tensors = reserve::collect(elements.iter().flatten().cloned())?;
    Ok(EncodedVariant { type_name: TYPE_NAME.into(), metadata: numbers.into(), tensors })
}

pub fn decode(encoded: &EncodedVariant) -> Result<DatasetRef> {
    let wrong = || invalid!("not a list of elements of a dataset");
    let (numbers, rest) = encoded.metadata.as_chunks::<4>();
    let dtype = |n: &[u8; 4]| DataType::from_wire(i32::from_le_bytes(*n)).ok_or_else(wrong);
    let types = reserve::try_collect(numbers.iter().map(dtype))?;
    let n = types.len();
    if n == 0 || !rest.is_empty() || !encoded.tensors.len().is_multiple_of(n) {
        return Err(wrong());
    }
    let mut elements = reserve::with_capacity(encoded.tensors.len() / n)?;
    for element in encoded.tensors.chunks_exact(n) {
        if element.iter().zip(&types).any(|(t, dtype)| t.dtype() != *dtype) {
            return Err(wrong());
        }
        elements.push(reserve::copied(element)?);
    }
    let shapes = reserve::filled(n, PartialShape::unknown())?;
    list(types, shapes, elements)
}
