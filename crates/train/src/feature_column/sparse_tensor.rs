//! `SparseTensor`: the elements that are present, with their indices.

use super::{Features, invalid};
use thalweg_client::{DataType, Output, Result, Scope};

/// A sparse matrix of the graph: a row of indices for each value, and the shape.
#[derive(Clone, Debug)]
pub struct SparseTensor {
    /// int64, a row for each value.
    pub indices: Output,
    /// In the order of the indices.
    pub values: Output,
    /// int64.
    pub dense_shape: Output,
}

impl SparseTensor {
    /// The elements of a matrix where `present` is true.
    pub(super) fn where_true(g: &Scope, matrix: &Output, present: &Output) -> SparseTensor {
        let indices = g.op("Where").name("indices").input(present).output();
        let values = g.op("GatherNd").name("values").input(matrix).input(&indices).output();
        let shape = g.op("Shape").name("dense_shape").input(matrix).attr("out_type", DataType::Int64);
        SparseTensor { dense_shape: shape.output(), indices, values }
    }

    /// A feature of strings or integers, without missing values: the empty string, and -1.
    pub(super) fn of_feature(g: &Scope, features: &Features, key: &str) -> Result<SparseTensor> {
        let x = features.rows(g, key)?;
        let missing = match x.dtype() {
            DataType::String => g.constant(""),
            t if t.is_integer() => g.number(-1.0, t),
            t => {
                return Err(invalid(format!(
                    "feature '{key}' is {t}, but a categorical column needs strings or integers; use numeric_column, and \
                     bucketized_column to make ids of numbers"
                )));
            }
        };
        if x.shape().rank() != Some(2) {
            return Err(invalid(format!(
                "feature '{key}' has shape {}; a categorical column needs [batch] or [batch, values]",
                x.shape()
            )));
        }
        let g = g.name_scope("to_sparse_input");
        Ok(SparseTensor::where_true(&g, &x, &g.not_equal(&x, &missing)))
    }

    /// The same indices with other values.
    pub(super) fn with_values(&self, values: Output) -> SparseTensor {
        SparseTensor { values, ..self.clone() }
    }

    /// Values as strings: integers are formatted.
    pub(super) fn texts(&self, g: &Scope) -> Output {
        match self.values.dtype() {
            DataType::String => self.values.clone(),
            _ => g.op("AsString").input(&self.values).output(),
        }
    }
}
