//! Indicator columns: a multi-hot vector of the ids of an example.

use super::{CategoricalColumn, Column, DenseColumn, Features, SparseTensor, invalid};
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{Output, Result, Scope};

/// See [`indicator_column`].
#[derive(Clone)]
pub struct IndicatorColumn {
    source: Arc<dyn CategoricalColumn>,
    place: &'static Location<'static>,
}

/// The count of each id of an example: multi-hot if ids are unique; for weighted ids, the sum of their weights.
#[track_caller]
pub fn indicator_column(source: impl CategoricalColumn + 'static) -> IndicatorColumn {
    IndicatorColumn { source: Arc::new(source), place: Location::caller() }
}

impl Column for IndicatorColumn {
    fn name(&self) -> String {
        format!("{}_indicator", self.source.name())
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        Some(self)
    }
}

impl DenseColumn for IndicatorColumn {
    fn width(&self) -> Result<usize> {
        self.source.buckets()
    }

    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        let (ids, depth) = (self.source.ids(g, features)?, self.width()?);
        if let Some(weights) = self.source.weights(g, features, &ids)? {
            return Ok(sums(g, &ids, &weights, depth));
        }
        let dense = g
            .op("SparseToDense")
            .input(&ids.indices)
            .input(&ids.dense_shape)
            .input(&ids.values)
            .input(g.constant(-1i64))
            .output();
        let depth = i32::try_from(depth).map_err(|_| {
            invalid(format!("{depth} ids are too many for '{}'", self.name())).at(Some(self.place))
        })?;
        // Sums over the ids of an example.
        Ok(g.reduce_sum(ones(g, &dense, depth), &[-2])
            .with_shape(&[-1, i64::from(depth)].into_iter().collect()))
    }
}

/// The sum of the weights of each id of each example.
fn sums(g: &Scope, ids: &SparseTensor, weights: &Output, depth: usize) -> Output {
    let depth = depth as i64;
    let inside =
        g.logical_and(g.greater_equal(&ids.values, g.constant(0i64)), g.less(&ids.values, g.constant(depth)));
    let kept = g.reshape(g.op("Where").input(&inside).output(), &[-1]);
    let example = g.slice(g.gather(&ids.indices, &kept, 0), &[0, 0], &[-1, 1]);
    let id = g.reshape(g.gather(&ids.values, &kept, 0), &[-1, 1]);
    let indices = g.concat(&[example, id], 1);
    let shape = g.concat(&[g.slice(&ids.dense_shape, &[0], &[1]), g.constant([depth])], 0);
    let weights = g.gather(weights, &kept, 0);
    let sums = g.op("ScatterNd").input(indices).input(weights).input(shape).output();
    sums.with_shape(&[-1, depth].into_iter().collect())
}

/// One-hot along a new last dimension; all zeros for ids out of range.
fn ones(g: &Scope, ids: &Output, depth: i32) -> Output {
    let [depth, on, off] = [g.constant(depth), g.constant(1f32), g.constant(0f32)];
    g.op("OneHot").name("one_hot").input(ids).input(depth).input(on).input(off).output()
}

/// One-hot as a matrix with a row for each row of ids.
pub(super) fn one_hot(g: &Scope, ids: &Output, depth: usize) -> Output {
    let depth = i32::try_from(depth).unwrap_or(i32::MAX);
    let columns = ids.shape().dims().and_then(|d| d.get(1).copied()).unwrap_or(1).max(1);
    let width = i32::try_from(columns).unwrap_or(i32::MAX).saturating_mul(depth);
    g.reshape(ones(g, ids, depth), &[-1, width])
}
