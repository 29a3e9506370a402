//! `List`: a dataset of elements in memory, such as a window of another one. It can be put into messages, so that a saved position
//! may hold windows.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, DatasetRef, Iter, Maker, Next, SOURCE, Tuple, TypedDataset, emit, ready};
use crate::prelude::*;
use thalweg_core::tensor::EncodedVariant;

pub static LIST_DATASET: Op = Op {
    name: "ListDataset",
    doc: "The elements whose components are `tensors`, one after another.",
    inputs: &["tensors: Tinput_types"],
    attrs: &[
        "Tinput_types: list(type) >= 1",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let n = c.attrs().types("output_types")?.len();
    if n == 0 || !c.inputs.len().is_multiple_of(n) {
        return Err(invalid!("{} tensors are no whole elements of {n} components", c.inputs.len()));
    }
    let all = reserve::try_collect((0..c.inputs.len()).map(|i| c.input(i).cloned()))?;
    let elements = reserve::try_collect(all.chunks_exact(n).map(reserve::copied))?;
    emit(c, &[], List::of(elements))
}

pub struct List(Arc<Vec<Tuple>>);

/// A dataset of these elements.
pub fn list(types: Vec<DataType>, shapes: Vec<PartialShape>, elements: Vec<Tuple>) -> Result<DatasetRef> {
    TypedDataset::new(types, shapes, &[], List::of(elements))
}

impl List {
    pub fn of(elements: Vec<Tuple>) -> List {
        List(Arc::new(elements))
    }
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

/// The node that makes a list.
pub fn maker(types: &[DataType], shapes: &[PartialShape], elements: &[Tuple]) -> Result<Maker> {
    let inputs = reserve::collect(elements.iter().flatten().cloned())?;
    let each = reserve::collect(inputs.iter().map(|t| Attr::Type(t.dtype())))?;
    let shapes = shapes.iter().cloned().map(Attr::Shape).collect();
    let attrs = [
        ("Tinput_types", Attr::List(each)),
        ("output_types", Attr::types(types)),
        ("output_shapes", Attr::List(shapes)),
        ("metadata", "".into()),
    ];
    Ok(Maker { op: LIST_DATASET.name, attrs: Attrs::of_map(attrs.into_iter()), inputs })
}

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
