//! Bucketized columns: which bucket a number is in.

use super::{CategoricalColumn, Column, DenseColumn, Features, NumericColumn, SparseTensor, invalid};
use std::panic::Location;
use thalweg_client::{Attr, DataType, Output, Result, Scope};

/// See [`bucketized_column`].
#[derive(Clone)]
pub struct BucketizedColumn {
    source: NumericColumn,
    boundaries: Vec<f32>,
    place: &'static Location<'static>,
}

/// Buckets of a number by boundaries in ascending order: one more bucket than boundaries. A boundary belongs to the
/// bucket after it.
#[track_caller]
pub fn bucketized_column(source: NumericColumn, boundaries: &[f32]) -> BucketizedColumn {
    BucketizedColumn { source, boundaries: boundaries.to_vec(), place: Location::caller() }
}

impl BucketizedColumn {
    /// The bucket index of each number of each example.
    fn intervals(&self, g: &Scope, features: &Features) -> Result<Output> {
        let rising = self.boundaries.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || self.boundaries.is_empty() {
            return Err(invalid(format!(
                "the boundaries {:?} of '{}' must be one or more, each larger than the last",
                self.boundaries,
                self.name()
            ))
            .at(Some(self.place)));
        }
        let x = self.source.tensor(g, features)?;
        let boundaries = self.boundaries.iter().map(|b| Attr::Float(*b)).collect();
        Ok(g.op("Bucketize").input(&x).attr("boundaries", Attr::List(boundaries)).output())
    }

    fn each(&self) -> usize {
        self.boundaries.len() + 1
    }
}

impl Column for BucketizedColumn {
    fn name(&self) -> String {
        format!("{}_bucketized", self.source.key)
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        Some(self)
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl DenseColumn for BucketizedColumn {
    fn width(&self) -> Result<usize> {
        self.buckets()
    }

    /// The one-hot encoding of the bucket.
    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        let x = self.intervals(g, features)?;
        Ok(super::indicator::one_hot(g, &g.cast(&x, DataType::Int64), self.each()))
    }
}

impl CategoricalColumn for BucketizedColumn {
    fn buckets(&self) -> Result<usize> {
        let total = self.source.width()?.checked_mul(self.each());
        total.ok_or_else(|| invalid(format!("'{}' has too many intervals", self.name())))
    }

    /// Each number of an example has its own range of ids.
    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        let x = g.cast(&self.intervals(g, features)?, DataType::Int64);
        let [start, limit, delta] = [0, self.buckets()?, self.each()].map(|n| g.constant(n as i64));
        let first = g.op("Range").name("range").input(&start).input(&limit).input(&delta).output();
        let ids = g.add(&x, &first);
        let all = g.greater_equal(&ids, g.constant(0i64));
        Ok(SparseTensor::where_true(g, &ids, &all))
    }
}
