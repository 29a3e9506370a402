//! Metrics of `train`, by their names in TensorFlow.

use crate::args;
use crate::errors::wrong_type;
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::Output;
use thalweg_train::metrics::{self as train, Metric};

type Measure = fn(&client::Scope, &Output, &Output, Option<&Output>) -> Metric;

/// The measure over all batches, and the measure after the batch of this run is added.
#[pyfunction]
#[pyo3(signature = (scope, kind, labels, predictions, weights=None, thresholds=200))]
pub fn metric(
    scope: &Bound<'_, Scope>,
    kind: &str,
    labels: Option<&Bound<'_, PyAny>>,
    predictions: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    thresholds: usize,
) -> PyResult<(Py<Tensor>, Py<Tensor>)> {
    let (py, scope) = (scope.py(), scope.get());
    let measure: Option<Measure> = match kind {
        "accuracy" => Some(train::accuracy),
        "mean_squared_error" => Some(train::mean_squared_error),
        "root_mean_squared_error" => Some(train::root_mean_squared_error),
        "mean_absolute_error" => Some(train::mean_absolute_error),
        "precision" => Some(train::precision),
        "recall" => Some(train::recall),
        _ => None,
    };
    let made = scope.build(py, |g| {
        let given = |obj: Option<&Bound<'_, PyAny>>, name: &str| {
            obj.filter(|o| !o.is_none()).map(|o| args::output_of(g, o, None, name)).transpose()
        };
        let predictions = args::output_of(g, predictions, None, "predictions")?;
        let (labels, weights) = (given(labels, "labels")?, given(weights, "weights")?);
        let weights = weights.as_ref();
        Ok(match (kind, measure, &labels) {
            (_, Some(measure), Some(labels)) => measure(g, labels, &predictions, weights),
            ("auc", _, Some(labels)) => train::auc(g, labels, &predictions, weights, thresholds),
            ("mean", _, _) => train::mean(g, &predictions, weights),
            _ => return Err(wrong_type(format!("no metric '{kind}'"))),
        })
    })?;
    Ok((Tensor::new(py, made.value, &scope.home)?, Tensor::new(py, made.updated, &scope.home)?))
}
