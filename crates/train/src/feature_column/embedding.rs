//! Embedding columns: a trained vector for each id.

use super::lookup::{Combiner, safe_embedding_lookup_sparse};
use super::{CategoricalColumn, Column, DenseColumn, Features, invalid};
use crate::initializers::TruncatedNormal;
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{DataType, Initializer, Output, Result, Scope, Variable, VariableOptions};

/// See [`embedding_column`].
#[derive(Clone)]
pub struct EmbeddingColumn {
    source: Arc<dyn CategoricalColumn>,
    embedded: Embedded,
    place: &'static Location<'static>,
}

/// For each example, the mean of the embeddings of its ids: `dimension` numbers; zeros without ids.
#[track_caller]
pub fn embedding_column(source: impl CategoricalColumn + 'static, dimension: usize) -> EmbeddingColumn {
    let place = Location::caller();
    EmbeddingColumn { source: Arc::new(source), embedded: Embedded::new(dimension), place }
}

impl EmbeddingColumn {
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
}

impl Column for EmbeddingColumn {
    fn name(&self) -> String {
        format!("{}_embedding", self.source.name())
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        Some(self)
    }
}

impl DenseColumn for EmbeddingColumn {
    fn width(&self) -> Result<usize> {
        self.embedded.width(&self.name()).map_err(|e| e.at(Some(self.place)))
    }

    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        let table = self.embedded.table(g, self.source.buckets()?, &self.name())?;
        self.embedded.lookup(g, features, &*self.source, &table, &self.name())
    }
}

/// The settings of an embedding table and its lookup.
#[derive(Clone)]
pub(super) struct Embedded {
    pub dimension: usize,
    pub combiner: Combiner,
    pub initializer: Option<Arc<dyn Initializer + Send + Sync>>,
    pub trainable: bool,
}

impl Embedded {
    pub fn new(dimension: usize) -> Embedded {
        Embedded { dimension, combiner: Combiner::Mean, initializer: None, trainable: true }
    }

    /// The dimension, validated. `column` is for the error.
    pub fn width(&self, column: &str) -> Result<usize> {
        match self.dimension {
            0 => Err(invalid(format!("the dimension of '{column}' must be at least 1"))),
            n => Ok(n),
        }
    }

    /// A table of `rows` rows, in the scope of `g`.
    pub fn table(&self, g: &Scope, rows: usize, column: &str) -> Result<Variable> {
        let width = self.width(column)?;
        let usual = TruncatedNormal { mean: 0.0, stddev: 1.0 / (width as f64).sqrt(), seed: None };
        let initializer: &dyn Initializer = match &self.initializer {
            Some(own) => &**own,
            None => &usual,
        };
        let options = VariableOptions { dtype: DataType::Float, trainable: self.trainable };
        Ok(g.get_variable_with("embedding_weights", &[rows, width], initializer, options))
    }

    /// For each example, the combined embeddings of its ids.
    pub fn lookup(
        &self,
        g: &Scope,
        features: &Features,
        source: &dyn CategoricalColumn,
        table: &Variable,
        column: &str,
    ) -> Result<Output> {
        let ids = source.ids(g, features)?;
        let weights = source.weights(g, features, &ids)?;
        let g = g.name_scope(&format!("{}_weights", super::scope_name(column)));
        let width = self.width(column)?;
        Ok(safe_embedding_lookup_sparse(&g, table, &ids, weights.as_ref(), self.combiner, width))
    }
}
