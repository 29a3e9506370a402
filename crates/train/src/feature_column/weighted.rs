//! Weighted columns: categorical columns with a weight per id.

use super::{CategoricalColumn, Column, Features, SparseTensor, invalid};
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{DataType, Output, Result, Scope};

/// See [`weighted_categorical_column`].
#[derive(Clone)]
pub struct WeightedColumn {
    source: Arc<dyn CategoricalColumn>,
    weight_key: String,
    place: &'static Location<'static>,
}

/// A categorical column weighted by another feature: a number for each value of the column's feature, in the same shape.
#[track_caller]
pub fn weighted_categorical_column(
    source: impl CategoricalColumn + 'static,
    weight_feature_key: &str,
) -> WeightedColumn {
    let place = Location::caller();
    WeightedColumn { source: Arc::new(source), weight_key: weight_feature_key.to_string(), place }
}

impl Column for WeightedColumn {
    fn name(&self) -> String {
        format!("{}_weighted_by_{}", self.source.name(), self.weight_key)
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl CategoricalColumn for WeightedColumn {
    fn buckets(&self) -> Result<usize> {
        self.source.buckets()
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        self.source.ids(g, features)
    }

    fn weights(&self, g: &Scope, features: &Features, ids: &SparseTensor) -> Result<Option<Output>> {
        let weights = || -> Result<Output> {
            let x = features.rows(g, &self.weight_key)?;
            let t = x.dtype();
            if !(t.is_float() || t.is_integer()) {
                return Err(invalid(format!(
                    "feature '{}' is {t}, but weights are numbers; name a feature of numbers",
                    self.weight_key
                )));
            }
            // Gathers the weight of each id at the index of the id: weights of missing values are skipped.
            let own = g.op("GatherNd").name("weights_of_ids").input(&x).input(&ids.indices).output();
            Ok(if t == DataType::Float { own } else { g.cast(&own, DataType::Float) })
        };
        weights().map(Some).map_err(|e| e.at(Some(self.place)))
    }
}
