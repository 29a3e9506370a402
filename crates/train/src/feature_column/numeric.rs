//! Numeric columns: raw numbers.

use super::{Column, DenseColumn, Features, invalid, numbers_in_row};
use std::panic::Location;
use std::sync::Arc;
use thalweg_client::{DataType, Output, Result, Scope};

/// See [`numeric_column`].
#[derive(Clone)]
pub struct NumericColumn {
    pub(super) key: String,
    pub(super) shape: Vec<usize>,
    normalizer: Option<Normalizer>,
    place: &'static Location<'static>,
}

type Normalizer = Arc<dyn Fn(&Scope, &Output) -> Output + Send + Sync>;

/// The values of a numeric feature: one for each example, unless a shape says otherwise.
#[track_caller]
pub fn numeric_column(key: &str) -> NumericColumn {
    NumericColumn { key: key.to_string(), shape: vec![1], normalizer: None, place: Location::caller() }
}

/// A numeric column for each name.
#[track_caller]
pub fn numeric_columns<'a>(keys: impl IntoIterator<Item = &'a str>) -> Vec<super::FeatureColumn> {
    let mut columns = Vec::new();
    for key in keys {
        columns.push(numeric_column(key).into());
    }
    columns
}

impl NumericColumn {
    /// The shape of the feature of one example.
    pub fn shape(mut self, dims: &[usize]) -> Self {
        self.shape = dims.to_vec();
        self
    }

    /// A function applied to the feature before the cast to float: `|g, x| (x - 3.0) / 4.2`.
    pub fn normalizer(mut self, f: impl Fn(&Scope, &Output) -> Output + Send + Sync + 'static) -> Self {
        self.normalizer = Some(Arc::new(f));
        self
    }

    /// The feature as a matrix of floats.
    fn matrix(&self, g: &Scope, features: &Features) -> Result<Output> {
        let x = features.rows(g, &self.key)?;
        let t = x.dtype();
        if !(t.is_float() || t.is_integer()) {
            return Err(invalid(format!(
                "feature '{}' is {t}, but a numeric column needs numbers; cast it, parse it (StringToNumber), or use a categorical column",
                self.key
            )));
        }
        let width = self.width()?;
        let given = numbers_in_row(&x.shape());
        if let Some(n) = given.filter(|n| *n != width as i64) {
            return Err(invalid(format!(
                "feature '{}' has {n} numbers for each example (shape {}), but the column is for {width}; make it with \
                 numeric_column(\"{}\").shape(&[{n}])",
                self.key,
                x.shape(),
                self.key
            )));
        }
        let x = match &self.normalizer {
            Some(f) => f(g, &x),
            None => x,
        };
        let x = if x.dtype() == DataType::Float { x } else { g.cast(&x, DataType::Float) };
        let width = i32::try_from(width).map_err(|_| invalid(format!("a column of {width} numbers")))?;
        Ok(g.reshape(&x, &[-1, width]))
    }
}

impl Column for NumericColumn {
    fn name(&self) -> String {
        self.key.clone()
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        Some(self)
    }
}

impl DenseColumn for NumericColumn {
    fn width(&self) -> Result<usize> {
        let width = self.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n > 0);
        width.ok_or_else(|| {
            invalid(format!(
                "the shape {:?} of numeric column '{}' has no numbers, or too many",
                self.shape, self.key
            ))
        })
    }

    fn tensor(&self, g: &Scope, features: &Features) -> Result<Output> {
        self.matrix(g, features).map_err(|e| e.at(Some(self.place)))
    }
}
