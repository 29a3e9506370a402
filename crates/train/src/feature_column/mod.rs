//! Feature columns: transform the raw features of examples, by name, into the input of a model.
//!
//! ```
//! use thalweg_client::{Scope, Session};
//! use thalweg_train::feature_column::*;
//! use thalweg_train::tables_initializer;
//!
//! let g = Scope::new();
//! let features = Features::new()
//!     .with("age", &g.constant([15f32, 31.0]))
//!     .with("kind", &g.constant(vec!["cat", "dog"]));
//! let columns: [FeatureColumn; 2] = [
//!     bucketized_column(numeric_column("age"), &[18.0, 65.0]).into(),
//!     indicator_column(categorical_column_with_vocabulary_list("kind", ["dog", "cat"])).into(),
//! ];
//! let x = input_layer(&g, &features, &columns)?;
//! let session = Session::new(&g)?;
//! session.run(&tables_initializer(&g), &[])?;
//! assert_eq!(session.run(&x, &[])?.as_slice::<f32>()?, [1., 0., 0., 0., 1., 0., 1., 0., 1., 0.]);
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! A column is dense (numbers for each example: numeric, bucketized, indicator, embedding) or categorical (ids: vocabulary, hash bucket,
//! identity, crossed, weighted; bucketized is both). [`input_layer`] joins dense columns; [`linear_model`] takes any. All of it becomes ordinary nodes,
//! with TensorFlow's values and variable names. In categorical features, `""` and -1 are missing values.

mod bucketized;
mod crossed;
mod embedding;
mod features;
mod hashed;
mod identity;
mod indicator;
mod input_layer;
mod linear_model;
mod lookup;
mod numeric;
mod shared_embedding;
mod sparse_tensor;
mod vocabulary;
mod weighted;

pub use bucketized::{BucketizedColumn, bucketized_column};
pub use crossed::{CrossedColumn, Part, crossed_column};
pub use embedding::{EmbeddingColumn, embedding_column};
pub use features::Features;
pub(crate) use features::numbers_in_row;
pub use hashed::{HashedColumn, categorical_column_with_hash_bucket};
pub use identity::{IdentityColumn, categorical_column_with_identity};
pub use indicator::{IndicatorColumn, indicator_column};
pub use input_layer::input_layer;
pub use linear_model::linear_model;
pub use lookup::{Combiner, safe_embedding_lookup_sparse};
pub use numeric::{NumericColumn, numeric_column, numeric_columns};
pub use shared_embedding::{SharedEmbeddingColumns, shared_embedding_columns};
pub use sparse_tensor::SparseTensor;
pub use vocabulary::{
    Key, VocabularyFileColumn, VocabularyListColumn, categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
};
pub use weighted::{WeightedColumn, weighted_categorical_column};

use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{Code, Error, Output, Result, Scope};

/// A feature column.
pub trait Column: Send + Sync {
    /// The name in variables and error messages.
    fn name(&self) -> String;

    /// The variable scope.
    fn scope(&self) -> String {
        self.name()
    }

    /// The source location that made it.
    fn place(&self) -> &'static Location<'static>;

    /// This column as a dense one, if it is.
    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        None
    }

    /// This column as a categorical one, if it is.
    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        None
    }
}

/// A column with a fixed number of floats for each example.
pub trait DenseColumn: Column {
    /// How many.
    fn width(&self) -> Result<usize>;

    /// A matrix with a row for each example.
    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output>;
}

/// A column with any number of ids below `buckets` for each example.
pub trait CategoricalColumn: Column {
    /// How many ids there are.
    fn buckets(&self) -> Result<usize>;

    /// A sparse matrix of ids with a row for each example; users ignore ids below 0.
    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor>;

    /// The weights of its ids; `None` if all are 1.
    fn weights(&self, _: &Scope, _: &Features, _ids: &SparseTensor) -> Result<Option<Output>> {
        Ok(None)
    }

    /// The keys that a cross of this column uses, if it is a cross itself.
    fn parts(&self) -> Option<&[Part]> {
        None
    }
}

/// Any column, as models take them. Cheap to clone.
#[derive(Clone)]
pub struct FeatureColumn(Arc<dyn Column>);

impl<C: Column + 'static> From<C> for FeatureColumn {
    fn from(column: C) -> FeatureColumn {
        FeatureColumn(Arc::new(column))
    }
}

impl std::ops::Deref for FeatureColumn {
    type Target = dyn Column;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The columns sorted by name, TensorFlow's order in a layer. Names must be unique.
fn in_order(columns: &[FeatureColumn]) -> Result<Vec<(String, &FeatureColumn)>> {
    let mut named: Vec<(String, &FeatureColumn)> = columns.iter().map(|c| (c.name(), c)).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    if named.is_empty() {
        return Err(invalid(
            "no feature columns are given; a model needs at least one, such as numeric_column(\"x\")",
        ));
    }
    match named.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let text = format!(
                "two feature columns have the name '{}'; the other was made at {}",
                pair[0].0,
                pair[0].1.place()
            );
            Err(invalid(text).at(Some(pair[1].1.place())))
        }
        None => Ok(named),
    }
}

/// A column's name as a valid scope name: letters, digits and `_.-`.
fn scope_name(column: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    column.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidArgument, Into::<String>::into(message))
}
