//! Embedding columns: a row of numbers for each id, learned.

use super::lookup::{Combiner, safe_embedding_lookup_sparse};
use super::{CategoricalColumn, Column, DenseColumn, Features, invalid};
use crate::initializers::TruncatedNormal;
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{DataType, Initializer, Output, Result, Scope, VariableOptions};

#[derive(Clone)]
pub struct EmbeddingColumn {
    source: Arc<dyn CategoricalColumn>,
    dimension: usize,
    combiner: Combiner,
    initializer: Option<Arc<dyn Initializer + Send + Sync>>,
    trainable: bool,
    place: &'static Location<'static>,
}

/// For each example, the mean of the learned rows of its ids: `dimension` numbers; zeros without ids.
#[track_caller]
pub fn embedding_column(source: impl CategoricalColumn + 'static, dimension: usize) -> EmbeddingColumn {
    EmbeddingColumn {
        source: Arc::new(source),
        dimension,
        combiner: Combiner::Mean,
        initializer: None,
        trainable: true,
        place: Location::caller(),
    }
}

impl EmbeddingColumn {
    /// What is made of the rows of several ids.
    pub fn combiner(mut self, combiner: Combiner) -> Self {
        self.combiner = combiner;
        self
    }

    /// A normal distribution cut off at two deviations of `1 / sqrt(dimension)`, if none is given.
    pub fn initializer(mut self, initializer: impl Initializer + Send + Sync + 'static) -> Self {
        self.initializer = Some(Arc::new(initializer));
        self
    }

    /// Optimizers leave the rows alone.
    pub fn not_trainable(mut self) -> Self {
        self.trainable = false;
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
        match self.dimension {
            0 => Err(invalid(format!("the dimension of '{}' must be at least 1", self.name()))
                .at(Some(self.place))),
            n => Ok(n),
        }
    }

    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        let (rows, width) = (self.source.buckets()?, self.width()?);
        let ids = self.source.ids(g, features)?;
        let usual = TruncatedNormal { mean: 0.0, stddev: 1.0 / (width as f64).sqrt(), seed: None };
        let initializer: &dyn Initializer = match &self.initializer {
            Some(own) => &**own,
            None => &usual,
        };
        let options = VariableOptions { dtype: DataType::Float, trainable: self.trainable };
        let table = g.get_variable_with("embedding_weights", &[rows, width], initializer, options);
        let g = g.name_scope(&format!("{}_weights", super::scope_name(&self.name())));
        Ok(safe_embedding_lookup_sparse(&g, &table, &ids, self.combiner, width))
    }
}
