//! `Features`: the tensors of a batch of examples, by name.

use super::invalid;
use std::collections::BTreeMap;
use thalweg_client::{Output, PartialShape, Result, Scope};

/// The features of a batch: tensors with a row for each example.
#[derive(Clone, Debug, Default)]
pub struct Features(BTreeMap<String, Output>);

impl Features {
    /// No features.
    pub fn new() -> Features {
        Features::default()
    }

    /// Adds a feature, or replaces the one of this name.
    pub fn with(mut self, name: &str, value: &Output) -> Features {
        self.0.insert(name.to_string(), value.clone());
        self
    }

    /// The feature of that name; the error lists the valid names.
    pub fn get(&self, name: &str) -> Result<&Output> {
        self.0.get(name).ok_or_else(|| {
            let there: Vec<&str> = self.names().collect();
            invalid(format!(
                "there is no feature '{name}' in the input, which has: {}; give the column the name of one of these, or \
                 the input a feature of that name",
                if there.is_empty() { "none".to_string() } else { there.join(", ") }
            ))
        })
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Names and tensors, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Output)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The feature with at least two dimensions: a vector becomes a matrix of one column.
    pub(super) fn rows(&self, g: &Scope, name: &str) -> Result<Output> {
        let x = self.get(name)?;
        match x.shape().rank() {
            Some(0) => Err(invalid(format!(
                "feature '{name}' is a scalar, but a row for each example is needed; does the dataset lack .batch(..)?"
            ))),
            Some(1) => Ok(g.reshape(x, &[-1, 1])),
            Some(_) => Ok(x.clone()),
            None => Err(invalid(format!(
                "the number of dimensions of feature '{name}' ('{}') must be known; use with_shape",
                x.name()
            ))),
        }
    }
}

/// The number of elements in a row of this shape, if known; 1 for a vector.
pub(crate) fn numbers_in_row(shape: &PartialShape) -> Option<i64> {
    let sizes = shape.dims()?.get(1..)?;
    sizes.iter().try_fold(1i64, |n, size| if *size < 0 { None } else { n.checked_mul(*size) })
}
