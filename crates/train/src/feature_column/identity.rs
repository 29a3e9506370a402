//! Identity columns: integers that are ids already.

use super::{CategoricalColumn, Column, Features, SparseTensor, invalid};
use std::panic::Location;
use thalweg_client::{DataType, Result, Scope};

/// See [`categorical_column_with_identity`].
#[derive(Clone)]
pub struct IdentityColumn {
    key: String,
    buckets: usize,
    default: Option<i64>,
    place: &'static Location<'static>,
}

/// Integers in `[0, num_buckets)` as ids.
#[track_caller]
pub fn categorical_column_with_identity(key: &str, num_buckets: usize) -> IdentityColumn {
    IdentityColumn { key: key.to_string(), buckets: num_buckets, default: None, place: Location::caller() }
}

impl IdentityColumn {
    /// The id of integers out of range. Without one, indicator columns are all zero for them, and lookups fail.
    pub fn default_value(mut self, id: i64) -> Self {
        self.default = Some(id);
        self
    }

    fn checked_ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        let x = SparseTensor::of_feature(g, features, &self.key)?;
        if x.values.dtype() == DataType::String {
            return Err(invalid(format!(
                "feature '{}' is string, but an identity column needs integers; use categorical_column_with_vocabulary_list or \
                 categorical_column_with_hash_bucket",
                self.key
            )));
        }
        let values = match x.values.dtype() {
            DataType::Int64 => x.values.clone(),
            _ => g.cast(&x.values, DataType::Int64),
        };
        let buckets = self.buckets()? as i64;
        let Some(default) = self.default else { return Ok(x.with_values(values)) };
        if !(0..buckets).contains(&default) {
            return Err(invalid(format!(
                "default_value {default} of '{}' is not in [0, {buckets})",
                self.key
            )));
        }
        let outside =
            g.logical_or(g.less(&values, g.constant(0i64)), g.greater_equal(&values, g.constant(buckets)));
        Ok(x.with_values(g.select(&outside, g.constant(default), &values)))
    }
}

impl Column for IdentityColumn {
    fn name(&self) -> String {
        self.key.clone()
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl CategoricalColumn for IdentityColumn {
    fn buckets(&self) -> Result<usize> {
        match self.buckets {
            0 => {
                Err(invalid(format!("num_buckets of '{}' must be at least 1", self.key)).at(Some(self.place)))
            }
            n => Ok(n),
        }
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        self.checked_ids(g, features).map_err(|e| e.at(Some(self.place)))
    }
}
