//! `Dataset`: a lazy sequence of tuples of tensors; `Iter`: one iteration over it.
//!
//! `next` of an iterator returns a future, so that waiting for a function or buffer blocks no thread. An element that is ready
//! at once needs no boxed future. Dropping the future cancels what it waits for.

use super::checkpoint::{Checkpoint, Work};
use super::context::Context;
use super::{list, load_dataset};
use crate::prelude::*;
use std::any::Any;
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{self, Poll};
use thalweg_core::tensor::{EncodedVariant, VariantValue};

/// One element of a dataset.
pub type Tuple = Vec<Tensor>;

/// The next tuple, or `None` at the end of the sequence.
pub type Element = Result<Option<Tuple>>;

/// Cardinalities of datasets without a known number of elements.
pub const INFINITE: i64 = -1;
pub const UNKNOWN: i64 = -2;

pub trait Dataset: Send + Sync {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>>;

    /// The number of elements, or `INFINITE`, or `UNKNOWN`.
    fn cardinality(&self) -> i64 {
        UNKNOWN
    }

    /// Finds out a cardinality that needs work; `cardinality` knows it afterwards.
    fn count<'a>(&'a self, c: &'a Context) -> Option<Work<'a>> {
        let _ = c;
        None
    }

    /// Whether `get` has every element. Datasets with random access override both.
    fn random_access(&self) -> Result<()> {
        Err(failed_precondition("a transformation in this dataset does not support random access"))
    }

    /// All elements, if they are in memory.
    fn elements(&self) -> Option<&[Tuple]> {
        None
    }

    /// The dataset for messages, if it can be in one.
    fn encode(&self) -> Option<Result<EncodedVariant>> {
        None
    }

    /// Element number `i`, which is below the cardinality.
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        let _ = (i, c);
        ready(Err(unimplemented("Random access is not implemented for this dataset")))
    }
}

pub trait Iter: Send {
    /// The next element. It may be called again after an error.
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a>;

    /// Saves this iterator's position to `s`, or, if `s.restoring()`, sets it: every field that `next` changes, and every input, under a
    /// name of its own (see [`Checkpoint`]). To restore, it is called once, on a new iterator of an equal dataset. It is not called
    /// while an element is being produced; saving changes nothing that `next` would notice.
    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a>;
}

/// An element, now or later.
pub enum Next<'a> {
    Ready(Option<Element>),
    Later(Pin<Box<dyn Future<Output = Element> + Send + 'a>>),
}

pub fn ready<'a>(element: Element) -> Next<'a> {
    Next::Ready(Some(element))
}

pub fn later<'a>(element: impl Future<Output = Element> + Send + 'a) -> Next<'a> {
    Next::Later(Box::pin(element))
}

impl Future for Next<'_> {
    type Output = Element;
    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Element> {
        match &mut *self {
            Next::Ready(element) => {
                Poll::Ready(element.take().unwrap_or_else(|| Err(internal("an element was asked for twice"))))
            }
            Next::Later(element) => element.as_mut().poll(cx),
        }
    }
}

/// A dataset with the types and shapes of its elements: the value in a variant tensor.
pub struct TypedDataset {
    pub types: Vec<DataType>,
    pub shapes: Vec<PartialShape>,
    /// Depth of the longest chain of input datasets.
    pub depth: usize,
    inputs: Vec<DatasetRef>,
    dataset: Box<dyn Dataset>,
    /// Asked of the dataset once: it asks its inputs, and an input may be reached by as many paths as 2 to the depth.
    cardinality: AtomicI64,
    random_access: Result<()>,
    /// `None` for datasets that no node made, such as windows.
    maker: Option<Maker>,
}

/// The node that made a dataset, and its inputs.
#[derive(Clone)]
pub struct Maker {
    pub op: &'static str,
    pub attrs: Attrs,
    pub inputs: Vec<Tensor>,
}

pub type DatasetRef = Arc<TypedDataset>;

/// The longest chain of datasets: the depth of nested iterator calls, on the stack.
pub const MAX_DEPTH: usize = 128;

impl TypedDataset {
    pub fn new(
        types: Vec<DataType>,
        shapes: Vec<PartialShape>,
        inputs: &[&DatasetRef],
        dataset: impl Dataset + 'static,
    ) -> Result<DatasetRef> {
        Self::made(types, shapes, inputs, dataset, None)
    }

    fn made(
        types: Vec<DataType>,
        shapes: Vec<PartialShape>,
        inputs: &[&DatasetRef],
        dataset: impl Dataset + 'static,
        maker: Option<Maker>,
    ) -> Result<DatasetRef> {
        let depth = 1 + inputs.iter().map(|d| d.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(invalid!("a dataset made of more than {MAX_DEPTH} others, one upon another"));
        }
        if types.len() != shapes.len() {
            return Err(invalid!(
                "a dataset has one shape for each type, got {} types and {} shapes",
                types.len(),
                shapes.len()
            ));
        }
        let inputs = inputs.iter().map(|d| (*d).clone()).collect();
        let (cardinality, random_access) = (AtomicI64::new(dataset.cardinality()), dataset.random_access());
        Ok(Arc::new(TypedDataset {
            types,
            shapes,
            depth,
            inputs,
            dataset: Box::new(dataset),
            cardinality,
            random_access,
            maker,
        }))
    }

    /// A new iterator over the dataset.
    pub fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        self.dataset.iterator(&c.deeper()?)
    }

    pub fn cardinality(&self) -> i64 {
        self.cardinality.load(Relaxed)
    }

    /// The node that makes this dataset.
    pub fn maker(&self) -> Result<Maker> {
        if let Some(maker) = &self.maker {
            return Ok(maker.clone());
        }
        match self.dataset.elements() {
            Some(elements) => list::maker(&self.types, &self.shapes, elements),
            None => Err(unimplemented("a dataset that no node made cannot be serialised as a graph")),
        }
    }

    /// As `cardinality`, after counting what can be counted, in the inputs too.
    pub async fn counted(self: &Arc<Self>, c: &Context) -> Result<i64> {
        let mut family = self.family()?;
        for dataset in &family {
            c.check()?;
            if let Some(work) = dataset.dataset.count(c) {
                work.await?;
            }
        }
        // Inputs before those they are inputs of.
        family.sort_by_key(|dataset| dataset.depth);
        for dataset in &family {
            dataset.cardinality.store(dataset.dataset.cardinality(), Relaxed);
        }
        Ok(self.cardinality())
    }

    /// This dataset and all that it is made of, each once, however many others have it as input. The last input of each comes before
    /// the others.
    pub fn family(self: &Arc<Self>) -> Result<Vec<DatasetRef>> {
        let (mut seen, mut all, mut rest) = (HashSet::new(), Vec::new(), vec![self.clone()]);
        while let Some(dataset) = rest.pop() {
            reserve::room(&mut seen, 1)?;
            if seen.insert(dataset.address()) {
                reserve::extend(&mut rest, &dataset.inputs)?;
                reserve::push(&mut all, dataset)?;
            }
        }
        Ok(all)
    }

    /// What tells it from other datasets, as long as it lives.
    pub fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// The node that made it, unless it was made without one.
    pub fn node(&self) -> Option<&Maker> {
        self.maker.as_ref()
    }

    pub fn inputs(&self) -> &[DatasetRef] {
        &self.inputs
    }

    pub fn random_access(&self) -> Result<()> {
        self.random_access.clone()
    }

    /// Element number `i`; OutOfRange past the last one.
    pub fn get<'a>(&'a self, i: i64, c: &'a Context) -> Next<'a> {
        if self.random_access().is_err() {
            return ready(Err(unimplemented("Random access is not implemented for this dataset")));
        }
        let n = self.cardinality();
        if n < 0 {
            return ready(Err(failed_precondition(format_args!(
                "a dataset of {} cardinality does not support random access",
                if n == INFINITE { "infinite" } else { "unknown" }
            ))));
        }
        match usize::try_from(i) {
            Ok(at) if i < n => self.dataset.get(at, c),
            _ => ready(Err(out_of_range(format_args!("Index out of range [0, {n}):{i}")))),
        }
    }
}

struct DatasetVariant(DatasetRef);

impl VariantValue for DatasetVariant {
    fn type_name(&self) -> &'static str {
        list::TYPE_NAME
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn encode(&self) -> Result<EncodedVariant> {
        match (self.0.dataset.elements(), self.0.dataset.encode()) {
            (Some(elements), _) => list::encode(&self.0.types, elements),
            (None, Some(encoded)) => encoded,
            (None, None) => Err(unimplemented(
                "datasets cannot be put into messages, but for windows of elements and saved ones",
            )),
        }
    }
}

/// The dataset that a tensor holds.
pub fn dataset_of(t: &Tensor) -> Result<DatasetRef> {
    match (t.rank(), t.variants()?) {
        (0, [v]) => match v.get::<DatasetVariant>() {
            Some(held) => Ok(held.0.clone()),
            None => match v.get::<EncodedVariant>() {
                Some(e) if e.type_name == list::TYPE_NAME => list::decode(e),
                Some(e) if e.type_name == load_dataset::SHARD => load_dataset::decode(e),
                _ => Err(invalid!("Tensor must be a dataset, got {v:?}")),
            },
        },
        _ => Err(invalid!("Dataset tensor must be a scalar of dtype DT_VARIANT, got shape {}", t.shape())),
    }
}

pub fn tensor_of(dataset: DatasetRef) -> Tensor {
    Tensor::from_object(Variant::new(DatasetVariant(dataset)))
}

/// The dataset in input `i`.
pub fn input(c: &OpCall<'_>, i: usize) -> Result<DatasetRef> {
    dataset_of(c.input(i)?)
}

/// Sets output 0 to a dataset of the types and shapes in attrs `output_types` (or `Toutput_types`) and `output_shapes`.
pub fn emit(c: &mut OpCall<'_>, inputs: &[&DatasetRef], dataset: impl Dataset + 'static) -> Result<()> {
    let attrs = c.attrs();
    let types = if attrs.get("output_types").is_some() { "output_types" } else { "Toutput_types" };
    emit_typed(c, attrs.types(types)?, attrs.shapes("output_shapes")?, inputs, dataset)
}

/// As `emit`, for elements of these types and shapes.
pub fn emit_typed(
    c: &mut OpCall<'_>,
    types: Vec<DataType>,
    shapes: Vec<PartialShape>,
    inputs: &[&DatasetRef],
    dataset: impl Dataset + 'static,
) -> Result<()> {
    let given = reserve::try_collect((0..c.inputs.len()).map(|i| c.input(i).cloned()))?;
    let maker = Maker { op: c.node.op, attrs: c.attrs().clone(), inputs: given };
    let held = TypedDataset::made(types, shapes, inputs, dataset, Some(maker))?;
    c.set(0, tensor_of(held));
    Ok(())
}

/// As `emit`, for datasets of scalar strings.
pub fn emit_strings(c: &mut OpCall<'_>, dataset: impl Dataset + 'static) -> Result<()> {
    emit_typed(c, vec![DataType::String], vec![PartialShape::scalar()], &[], dataset)
}

/// The attrs of most datasets.
pub const OUTPUT_ATTRS: &[&str] =
    &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "metadata: string = ''"];

/// The template of dataset ops: one scalar variant, no gradient.
pub const DATASET: Op = Op {
    outputs: &["handle: variant"],
    attrs: OUTPUT_ATTRS,
    shape: shape_call::scalar,
    grad: Stops,
    ..Op::PURE
};

/// As `DATASET`, for the sources, which TensorFlow counts as stateful so that they are never folded.
pub const SOURCE: Op = Op { stateful: true, ..DATASET };
