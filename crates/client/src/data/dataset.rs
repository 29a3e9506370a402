//! `Dataset`: the description of an input pipeline, before its nodes are made.

use crate::{Attr, DataType, OpBuilder, Output, PartialShape, Scope};
use std::panic::Location;
use std::sync::Arc;

/// A sequence of elements, each of one or more tensors. Cheap to clone: it holds a description.
///
/// Nodes are made when an iterator is: a one-shot iterator has them in a function of its own, an initializable one in the graph.
#[derive(Clone)]
pub struct Dataset {
    pub(crate) scope: Scope,
    pub(crate) elements: Arc<[(DataType, PartialShape)]>,
    make: Arc<dyn Fn(&Scope) -> Output + Send + Sync>,
}

impl Dataset {
    pub(crate) fn new(
        scope: &Scope,
        elements: Vec<(DataType, PartialShape)>,
        make: impl Fn(&Scope) -> Output + Send + Sync + 'static,
    ) -> Dataset {
        Dataset { scope: scope.clone(), elements: elements.into(), make: Arc::new(make) }
    }

    /// A placeholder after an error, which the scope has recorded.
    pub(crate) fn broken(scope: &Scope) -> Dataset {
        Dataset::new(scope, vec![], |g| g.op("NoOp").output())
    }

    /// Types and shapes of an element's components.
    pub fn elements(&self) -> &[(DataType, PartialShape)] {
        &self.elements
    }

    /// The nodes of this dataset on a scope; the output is a variant.
    pub fn build(&self, g: &Scope) -> Output {
        (self.make)(g)
    }

    /// A transformation that keeps the element types and shapes.
    fn step(&self, make: impl Fn(&Scope, &Output) -> Output + Send + Sync + 'static) -> Dataset {
        self.then(self.elements.to_vec(), make)
    }

    /// A transformation to other elements.
    pub(crate) fn then(
        &self,
        elements: Vec<(DataType, PartialShape)>,
        make: impl Fn(&Scope, &Output) -> Output + Send + Sync + 'static,
    ) -> Dataset {
        let input = self.clone();
        Dataset::new(&self.scope, elements, move |g| make(g, &input.build(g)))
    }

    /// Repeats the elements: `Some(k)` times, or indefinitely.
    pub fn repeat(&self, count: Option<i64>) -> Dataset {
        let elements = self.elements.clone();
        self.step(move |g, input| {
            let count = g.constant(count.unwrap_or(-1));
            declare(g.op("RepeatDataset").input(input).input(count), &elements).output()
        })
    }

    /// The first `count` elements.
    pub fn take(&self, count: i64) -> Dataset {
        self.counted("TakeDataset", count)
    }

    /// All but the first `count` elements.
    pub fn skip(&self, count: i64) -> Dataset {
        self.counted("SkipDataset", count)
    }

    /// Prefetches up to `size` elements, on other threads.
    pub fn prefetch(&self, size: i64) -> Dataset {
        self.counted("PrefetchDataset", size)
    }

    fn counted(&self, op: &'static str, count: i64) -> Dataset {
        let elements = self.elements.clone();
        self.step(move |g, input| declare(g.op(op).input(input).input(g.constant(count)), &elements).output())
    }

    /// Every `shards`-th element, from `index` on.
    pub fn shard(&self, shards: i64, index: i64) -> Dataset {
        let elements = self.elements.clone();
        self.step(move |g, input| {
            let (shards, index) = (g.constant(shards), g.constant(index));
            declare(g.op("ShardDataset").input(input).input(shards).input(index), &elements).output()
        })
    }

    /// Caches elements in memory: later iterations do not read the input.
    pub fn cache(&self) -> Dataset {
        let elements = self.elements.clone();
        self.step(move |g, input| {
            let memory = g.constant("");
            declare(g.op("CacheDataset").input(input).input(memory), &elements).output()
        })
    }

    /// Shuffles by a buffer of `size` elements, in another order in each iteration. With a seed, the orders are the
    /// same in every run, and TensorFlow's.
    pub fn shuffle(&self, size: i64, seed: Option<i64>) -> Dataset {
        self.shuffle_with(size, seed, true)
    }

    /// As `shuffle`; without `reshuffle_each_iteration`, in the same order in each iteration.
    pub fn shuffle_with(&self, size: i64, seed: Option<i64>, reshuffle_each_iteration: bool) -> Dataset {
        let elements = self.elements.clone();
        let (seed, seed2) = self.scope.seeds_for(seed);
        self.step(move |g, input| {
            let (size, seed, seed2) = (g.constant(size), g.constant(seed), g.constant(seed2));
            let op = g.op("ShuffleDataset").input(input).input(size).input(seed).input(seed2);
            declare(op.attr("reshuffle_each_iteration", reshuffle_each_iteration), &elements).output()
        })
    }

    /// Elements stacked along a new first dimension, `size` at a time; the last batch may be smaller.
    pub fn batch(&self, size: i64) -> Dataset {
        self.batched(size, false)
    }

    /// As `batch`, but drops a smaller last batch: all shapes are known.
    pub fn batch_exact(&self, size: i64) -> Dataset {
        self.batched(size, true)
    }

    fn batched(&self, size: i64, drop_remainder: bool) -> Dataset {
        let rows = PartialShape::vector(if drop_remainder { size } else { -1 });
        let elements: Vec<_> = self.elements.iter().map(|(t, s)| (*t, rows.concat(s))).collect();
        let declared = elements.clone();
        self.then(elements, move |g, input| {
            let (size, drop) = (g.constant(size), g.constant(drop_remainder));
            declare(g.op("BatchDatasetV2").input(input).input(size).input(drop), &declared).output()
        })
    }

    /// As `batch`, for elements whose sizes differ: each dimension is padded to the largest of the batch, with zeros or empty
    /// strings.
    #[track_caller]
    pub fn padded_batch(&self, size: i64) -> Dataset {
        let location = Location::caller();
        if let Some((_, shape)) = self.elements.iter().find(|(_, s)| s.rank().is_none()) {
            let e = crate::Error::new(
                crate::Code::InvalidArgument,
                format!("padded_batch needs elements of known rank, got shape {shape}"),
            );
            self.scope.mistake(e.at(Some(location)));
            return Dataset::broken(&self.scope);
        }
        let rows = PartialShape::vector(-1);
        let open = |s: &PartialShape| PartialShape::unknown_of_rank(s.rank().unwrap_or(0));
        let elements: Vec<_> = self.elements.iter().map(|(t, s)| (*t, rows.concat(&open(s)))).collect();
        let (declared, parts) = (elements.clone(), self.elements.clone());
        self.then(elements, move |g, input| {
            let sizes: Vec<Output> =
                parts.iter().map(|(_, s)| g.constant(vec![-1i64; s.rank().unwrap_or(0)])).collect();
            let zeros: Vec<Output> = parts.iter().map(|(t, _)| g.zeros(*t, &[])).collect();
            let (size, keep) = (g.constant(size), g.constant(false));
            g.op("PaddedBatchDatasetV2")
                .input(input)
                .input(size)
                .inputs(&sizes)
                .inputs(&zeros)
                .input(keep)
                .attr("output_shapes", shapes(&declared))
                .output()
        })
    }

    /// The elements of this dataset, then those of another.
    pub fn concatenate(&self, other: &Dataset) -> Dataset {
        let both =
            |((t, a), (_, b)): (&(DataType, PartialShape), &(DataType, PartialShape))| (*t, a.common(b));
        let elements: Vec<_> = self.elements.iter().zip(&*other.elements).map(both).collect();
        let (declared, other) = (elements.clone(), other.clone());
        self.then(elements, move |g, input| {
            declare(g.op("ConcatenateDataset").input(input).input(other.build(g)), &declared).output()
        })
    }

    /// Zips several datasets, until one of them ends.
    pub fn zip(parts: &[&Dataset]) -> Dataset {
        let Some(first) = parts.first() else { return Dataset::broken(&Scope::new()) };
        let parts: Vec<Dataset> = parts.iter().copied().cloned().collect();
        let elements: Vec<_> = parts.iter().flat_map(|d| d.elements.to_vec()).collect();
        let declared = elements.clone();
        Dataset::new(&first.scope.clone(), elements, move |g| {
            let inputs: Vec<Output> = parts.iter().map(|d| d.build(g)).collect();
            declare(g.op("ZipDataset").inputs(&inputs), &declared).output()
        })
    }
}

pub(crate) fn types(elements: &[(DataType, PartialShape)]) -> Attr {
    Attr::List(elements.iter().map(|(t, _)| Attr::Type(*t)).collect())
}

pub(crate) fn shapes(elements: &[(DataType, PartialShape)]) -> Attr {
    Attr::List(elements.iter().map(|(_, s)| Attr::Shape(s.clone())).collect())
}

/// Sets the attrs for types and shapes of elements.
pub(crate) fn declare<'a>(op: OpBuilder<'a>, elements: &[(DataType, PartialShape)]) -> OpBuilder<'a> {
    op.attr("output_types", types(elements)).attr("output_shapes", shapes(elements))
}
