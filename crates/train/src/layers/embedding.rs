//! `Embedding`: a trained vector for each id.

use super::weights::Weights;
use crate::initializers::RandomUniform;
use thalweg_client::{Initializer, Output, Scope, Variable};

/// A trained table of `rows` vectors of `size` numbers, looked up by id.
pub struct Embedding<'a> {
    rows: usize,
    size: usize,
    initializer: Option<&'a dyn Initializer>,
    name: Option<&'a str>,
    weights: Weights,
}

impl<'a> Embedding<'a> {
    /// A table of `rows` by `size`.
    pub fn new(rows: usize, size: usize) -> Self {
        Embedding { rows, size, initializer: None, name: None, weights: Weights::default() }
    }

    /// Uniform in [-0.05, 0.05) if none is given.
    pub fn initializer(self, initializer: &'a dyn Initializer) -> Self {
        Embedding { initializer: Some(initializer), ..self }
    }

    /// The variable scope; `embedding` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        Embedding { name: Some(name), ..self }
    }

    /// The table itself.
    #[track_caller]
    pub fn table(&self, g: &Scope) -> Variable {
        let g = self.weights.scope(g, self.name, "embedding");
        let uniform = RandomUniform { low: -0.05, high: 0.05, seed: None };
        g.get_variable("embeddings", &[self.rows, self.size], self.initializer.unwrap_or(&uniform))
    }

    /// The rows of these ids. The gradient is sparse: only those rows.
    #[track_caller]
    pub fn apply(&self, g: &Scope, ids: &Output) -> Output {
        let table = self.table(g);
        let g = g.name_scope("embedding_lookup");
        g.identity(table.gather(&g, ids))
    }
}
