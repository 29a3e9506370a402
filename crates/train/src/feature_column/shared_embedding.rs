//! Shared embedding columns: several categorical columns with one embedding table.

use super::embedding::Embedded;
use super::lookup::Combiner;
use super::{CategoricalColumn, Column, DenseColumn, FeatureColumn, Features, invalid};
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{Initializer, Output, Result, Scope, Variable};

/// Columns that share a table: `.columns(shared_embedding_columns([..], 8))`.
#[derive(Clone)]
pub struct SharedEmbeddingColumns {
    sources: Vec<FeatureColumn>,
    embedded: Embedded,
    /// The name of the table's collection, and of the first column's scope.
    collection: Option<String>,
    place: &'static Location<'static>,
}

/// For each of these categorical columns, the mean of the embeddings of its ids, all from one table with rows of `dimension` numbers: words of a question
/// and words of an answer. All columns have the same number of ids.
#[track_caller]
pub fn shared_embedding_columns(
    sources: impl IntoIterator<Item = FeatureColumn>,
    dimension: usize,
) -> SharedEmbeddingColumns {
    SharedEmbeddingColumns {
        sources: sources.into_iter().collect(),
        embedded: Embedded::new(dimension),
        collection: None,
        place: Location::caller(),
    }
}

impl SharedEmbeddingColumns {
    /// How the embeddings of several ids are combined; the mean by default.
    pub fn combiner(mut self, combiner: Combiner) -> Self {
        self.embedded.combiner = combiner;
        self
    }

    /// A normal distribution with deviation `1 / sqrt(dimension)`, truncated at two of them, by default.
    pub fn initializer(mut self, initializer: impl Initializer + Send + Sync + 'static) -> Self {
        self.embedded.initializer = Some(Arc::new(initializer));
        self
    }

    /// The embeddings are not trained.
    pub fn not_trainable(mut self) -> Self {
        self.embedded.trainable = false;
        self
    }

    /// The collection of the table; by default, made of the names of all columns.
    pub fn shared_embedding_collection_name(mut self, name: &str) -> Self {
        self.collection = Some(name.to_string());
        self
    }

    fn collection_name(&self) -> String {
        self.collection.clone().unwrap_or_else(|| {
            let mut names: Vec<String> = self.sources.iter().map(|c| c.name()).collect();
            names.sort();
            format!("{}_shared_embedding", names.join("_"))
        })
    }
}

impl IntoIterator for SharedEmbeddingColumns {
    type Item = FeatureColumn;
    type IntoIter = std::vec::IntoIter<FeatureColumn>;

    fn into_iter(self) -> Self::IntoIter {
        let collection = self.collection_name();
        let column = |source: &FeatureColumn| SharedEmbeddingColumn {
            source: source.clone(),
            embedded: self.embedded.clone(),
            collection: collection.clone(),
            place: self.place,
        };
        self.sources.iter().map(|source| column(source).into()).collect::<Vec<_>>().into_iter()
    }
}

struct SharedEmbeddingColumn {
    source: FeatureColumn,
    embedded: Embedded,
    collection: String,
    place: &'static Location<'static>,
}

impl SharedEmbeddingColumn {
    fn ids(&self) -> Result<&dyn CategoricalColumn> {
        self.source.as_categorical().ok_or_else(|| {
            invalid(format!(
                "column '{}' gives numbers, but an embedding needs ids; share the embedding of categorical columns",
                self.source.name()
            ))
        })
    }

    /// The table that another of these columns made in this graph, or a new one.
    fn table(&self, g: &Scope, rows: usize) -> Result<Variable> {
        let made = g.collection(&self.collection).first().map(|handle| handle.name());
        let found = made.and_then(|name| g.global_variables().into_iter().find(|v| v.handle.name() == name));
        let Some(table) = found else {
            let table = self.embedded.table(g, rows, &self.name())?;
            g.add_to_collection(&self.collection, &table.handle);
            return Ok(table);
        };
        let have = table.shape().dims().and_then(|d| d.first().copied()).unwrap_or(-1);
        if have != rows as i64 {
            return Err(invalid(format!(
                "column '{}' has {rows} ids, but '{}', which it shares, is a table of {have} rows; give all of its columns the same number of ids",
                self.source.name(),
                table.name()
            )));
        }
        Ok(table)
    }
}

impl Column for SharedEmbeddingColumn {
    fn name(&self) -> String {
        format!("{}_shared_embedding", self.source.name())
    }

    fn scope(&self) -> String {
        self.collection.clone()
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        Some(self)
    }
}

impl DenseColumn for SharedEmbeddingColumn {
    fn width(&self) -> Result<usize> {
        self.embedded.width(&self.name()).map_err(|e| e.at(Some(self.place)))
    }

    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        let made = || {
            let source = self.ids()?;
            let table = self.table(g, source.buckets()?)?;
            self.embedded.lookup(g, features, source, &table, &self.name())
        };
        made().map_err(|e: thalweg_client::Error| e.at(Some(self.place)))
    }
}
