//! Crossed columns: an id for each combination of features.

use super::{CategoricalColumn, Column, Features, SparseTensor, invalid};
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{Attr, DataType, Output, Result, Scope};

/// See [`crossed_column`].
#[derive(Clone)]
pub struct CrossedColumn {
    parts: Vec<Part>,
    buckets: usize,
    hash_key: i64,
    place: &'static Location<'static>,
}

/// A key of a cross.
#[derive(Clone)]
pub enum Part {
    /// A raw feature of strings or integers.
    Feature(String),
    /// The ids of a column.
    Ids(Arc<dyn CategoricalColumn>),
}

impl Part {
    fn name(&self) -> String {
        match self {
            Part::Feature(key) => key.clone(),
            Part::Ids(column) => column.name(),
        }
    }
}

/// TensorFlow's key where none is chosen.
const DEFAULT_HASH_KEY: i64 = 0x00DE_CAFC_AFFE;

/// Combinations of these features of strings or integers, hashed into buckets. [`CrossedColumn::with`] crosses the ids of columns
/// too: `crossed_column(["city"], 1000).with(bucketized_column(numeric_column("age"), &[18.0, 65.0]))`.
#[track_caller]
pub fn crossed_column<'a>(
    features: impl IntoIterator<Item = &'a str>,
    hash_bucket_size: usize,
) -> CrossedColumn {
    let parts = features.into_iter().map(|key| Part::Feature(key.to_string())).collect();
    CrossedColumn { parts, buckets: hash_bucket_size, hash_key: DEFAULT_HASH_KEY, place: Location::caller() }
}

impl CrossedColumn {
    /// Crosses one more column; of a crossed column, its keys.
    pub fn with(mut self, column: impl CategoricalColumn + 'static) -> Self {
        match column.parts() {
            Some(parts) => self.parts.extend_from_slice(parts),
            None => self.parts.push(Part::Ids(Arc::new(column))),
        }
        self
    }

    /// The initial key of the hash.
    pub fn hash_key(mut self, key: i64) -> Self {
        self.hash_key = key;
        self
    }

    fn cross(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        if self.parts.len() < 2 {
            return Err(invalid(format!(
                "a cross needs at least two features or columns, got {}",
                self.parts.len()
            )));
        }
        let (mut sparse, mut dense) = (Vec::new(), Vec::new());
        for part in &self.parts {
            match part {
                Part::Feature(key) => dense.push(whole_feature(g, features, key)?),
                Part::Ids(column) => {
                    let ids = column.ids(g, features)?;
                    if column.weights(g, features, &ids)?.is_some() {
                        return Err(invalid(format!(
                            "'{}' has weights, which a cross does not; cross the column that it weighs",
                            column.name()
                        )));
                    }
                    sparse.push(ids);
                }
            }
        }
        let column = |of: fn(&SparseTensor) -> &Output| sparse.iter().map(of).collect::<Vec<_>>();
        let types = |all: &[&Output]| Attr::types(&all.iter().map(|o| o.dtype()).collect::<Vec<_>>());
        let (values, dense) = (column(|s| &s.values), dense.iter().collect::<Vec<_>>());
        let crossed = g
            .op("SparseCross")
            .inputs(&column(|s| &s.indices))
            .inputs(&values)
            .inputs(&column(|s| &s.dense_shape))
            .inputs(&dense)
            .attr("N", sparse.len() as i64)
            .attr("sparse_types", types(&values))
            .attr("dense_types", types(&dense))
            .attr("hashed_output", true)
            .attr("num_buckets", self.buckets()? as i64)
            .attr("hash_key", self.hash_key)
            .attr("out_type", DataType::Int64)
            .attr("internal_type", DataType::Int64)
            .build();
        let [indices, values, dense_shape] = [0, 1, 2].map(|i| crossed.output(i));
        Ok(SparseTensor { indices, values, dense_shape })
    }
}

/// A feature as a matrix of strings or int64; no value counts as missing.
fn whole_feature(g: &Scope, features: &Features, key: &str) -> Result<Output> {
    let x = features.rows(g, key)?;
    match x.dtype() {
        DataType::String | DataType::Int64 => Ok(x),
        t if t.is_integer() => Ok(g.cast(&x, DataType::Int64)),
        t => Err(invalid(format!(
            "feature '{key}' is {t}, but a cross needs strings or integers; cross it as \
             .with(bucketized_column(numeric_column(\"{key}\"), ..))"
        ))),
    }
}

impl Column for CrossedColumn {
    fn name(&self) -> String {
        let mut names: Vec<String> = self.parts.iter().map(Part::name).collect();
        names.sort();
        names.join("_X_")
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl CategoricalColumn for CrossedColumn {
    fn buckets(&self) -> Result<usize> {
        match self.buckets {
            0 => Err(invalid(format!("hash_bucket_size of '{}' must be at least 1", self.name()))
                .at(Some(self.place))),
            n => Ok(n),
        }
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        self.cross(g, features).map_err(|e| e.at(Some(self.place)))
    }

    fn parts(&self) -> Option<&[Part]> {
        Some(&self.parts)
    }
}
