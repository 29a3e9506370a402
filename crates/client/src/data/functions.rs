//! Transformations with functions: closures, traced once into functions of the graph's library.

use super::dataset::{Dataset, declare};
use crate::{DataType, Error, OpBuilder, Output, PartialShape, Result, Scope, TracedFunction};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

impl Dataset {
    /// Maps a function over the elements: `.map(|g, x| vec![g.cast(&x[0], DataType::Float)])`. The closure is called once, to trace
    /// the function; it may capture values of the graph around it, unless the iterator is a one-shot one.
    #[track_caller]
    pub fn map<R: Into<Vec<Output>>>(&self, f: impl FnOnce(&Scope, &[Output]) -> R) -> Dataset {
        self.mapped("map", Location::caller(), f, |g, input, f| {
            let op = g.op("MapDataset").input(input).inputs(&f.captured).attr("f", f.func.clone());
            op.attr("preserve_cardinality", true)
        })
    }

    /// As `map`, with up to `calls` elements computed in parallel; the order stays. -1 lets the device choose.
    #[track_caller]
    pub fn parallel_map<R: Into<Vec<Output>>>(
        &self,
        calls: i64,
        f: impl FnOnce(&Scope, &[Output]) -> R,
    ) -> Dataset {
        self.mapped("map", Location::caller(), f, move |g, input, f| {
            let calls = g.constant(calls);
            let op = g.op("ParallelMapDatasetV2").input(input).inputs(&f.captured).input(&calls);
            op.attr("f", f.func.clone()).attr("preserve_cardinality", true)
        })
    }

    fn mapped<R: Into<Vec<Output>>>(
        &self,
        name: &str,
        location: &'static Location<'static>,
        f: impl FnOnce(&Scope, &[Output]) -> R,
        make: impl for<'a> Fn(&'a Scope, &Output, &TracedFunction) -> OpBuilder<'a> + Send + Sync + 'static,
    ) -> Dataset {
        let Some(f) = self.traced(name, location, f) else { return Dataset::broken(&self.scope) };
        let elements = f.results.clone();
        self.then(elements, move |g, input| declare(make(g, input, &f), &f.results).output())
    }

    /// The elements for which a predicate is true.
    #[track_caller]
    pub fn filter(&self, predicate: impl FnOnce(&Scope, &[Output]) -> Output) -> Dataset {
        let traced = self.traced("filter", Location::caller(), |g, x| vec![predicate(g, x)]);
        let Some(f) = traced else { return Dataset::broken(&self.scope) };
        let elements = self.elements.to_vec();
        self.then(self.elements.to_vec(), move |g, input| {
            let op = g.op("FilterDataset").input(input).inputs(&f.captured).attr("predicate", f.func.clone());
            declare(op, &elements).output()
        })
    }

    /// The elements of the dataset that a function returns for each element, concatenated.
    #[track_caller]
    pub fn flat_map(&self, f: impl FnOnce(&Scope, &[Output]) -> Dataset) -> Dataset {
        self.nested("flat_map", Location::caller(), f, |g, input, f| {
            g.op("FlatMapDataset").input(input).inputs(&f.captured).attr("f", f.func.clone())
        })
    }

    /// As `flat_map`, with `cycle` of the datasets open at once, and `block` consecutive elements of each.
    #[track_caller]
    pub fn interleave(
        &self,
        cycle: i64,
        block: i64,
        f: impl FnOnce(&Scope, &[Output]) -> Dataset,
    ) -> Dataset {
        self.nested("interleave", Location::caller(), f, move |g, input, f| {
            let (cycle, block) = (g.constant(cycle), g.constant(block));
            let op = g.op("InterleaveDataset").input(input).inputs(&f.captured).input(cycle).input(block);
            op.attr("f", f.func.clone())
        })
    }

    fn nested(
        &self,
        name: &str,
        location: &'static Location<'static>,
        f: impl FnOnce(&Scope, &[Output]) -> Dataset,
        make: impl for<'a> Fn(&'a Scope, &Output, &TracedFunction) -> OpBuilder<'a> + Send + Sync + 'static,
    ) -> Dataset {
        // The inner dataset's element types are known once it is traced.
        let inner: Arc<Mutex<Vec<(DataType, PartialShape)>>> = Arc::default();
        let found = inner.clone();
        let traced = self.traced(name, location, move |g, x| {
            let dataset = f(g, x);
            *found.lock().unwrap_or_else(PoisonError::into_inner) = dataset.elements.to_vec();
            vec![dataset.build(g)]
        });
        let Some(f) = traced else { return Dataset::broken(&self.scope) };
        let elements = inner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let declared = elements.clone();
        self.then(elements, move |g, input| declare(make(g, input, &f), &declared).output())
    }

    fn traced<R: Into<Vec<Output>>>(
        &self,
        name: &str,
        location: &'static Location<'static>,
        f: impl FnOnce(&Scope, &[Output]) -> R,
    ) -> Option<TracedFunction> {
        let traced: Result<TracedFunction> =
            self.scope.function(&format!("Dataset_{name}"), &self.elements, f);
        traced.map_err(|e: Error| self.scope.mistake(e.at(Some(location)))).ok()
    }
}
