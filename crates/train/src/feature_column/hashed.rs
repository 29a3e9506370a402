//! Hash buckets: ids for values without a vocabulary.

use super::{CategoricalColumn, Column, Features, SparseTensor, invalid};
use std::panic::Location;
use thalweg_client::{Result, Scope};

/// See [`categorical_column_with_hash_bucket`].
#[derive(Clone)]
pub struct HashedColumn {
    key: String,
    buckets: usize,
    place: &'static Location<'static>,
}

/// Strings or integers hashed into buckets by fingerprint: two values may collide.
#[track_caller]
pub fn categorical_column_with_hash_bucket(key: &str, hash_bucket_size: usize) -> HashedColumn {
    HashedColumn { key: key.to_string(), buckets: hash_bucket_size, place: Location::caller() }
}

impl Column for HashedColumn {
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

impl CategoricalColumn for HashedColumn {
    fn buckets(&self) -> Result<usize> {
        match self.buckets {
            0 => Err(invalid(format!("hash_bucket_size of '{}' must be at least 1", self.key))
                .at(Some(self.place))),
            n => Ok(n),
        }
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        let buckets = self.buckets()? as i64;
        let x = SparseTensor::of_feature(g, features, &self.key).map_err(|e| e.at(Some(self.place)))?;
        let texts = x.texts(g);
        let hash = g.op("StringToHashBucketFast").name("lookup").input(&texts).attr("num_buckets", buckets);
        Ok(x.with_values(hash.output()))
    }
}
