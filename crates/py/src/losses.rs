//! Losses and learning rate schedules of `train`, by their names in TensorFlow.

use crate::args;
use crate::errors::{OrRaise, wrong_type};
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::Output;
use thalweg_train::{losses as train, schedules};

type Loss = fn(&client::Scope, &Output, &Output, Option<&Output>) -> Output;

/// A loss of labels and predictions.
#[pyfunction]
#[pyo3(signature = (scope, kind, labels, predictions, weights=None, setting=None))]
fn loss(
    scope: &Bound<'_, Scope>,
    kind: &str,
    labels: &Bound<'_, PyAny>,
    predictions: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    setting: Option<f64>,
) -> PyResult<Py<Tensor>> {
    let simple: Option<Loss> = match kind {
        "mean_squared_error" => Some(train::mean_squared_error),
        "absolute_difference" => Some(train::absolute_difference),
        "log_loss" => Some(train::log_loss),
        "hinge_loss" => Some(train::hinge_loss),
        "sigmoid_cross_entropy" => Some(train::sigmoid_cross_entropy),
        "softmax_cross_entropy" => Some(train::softmax_cross_entropy),
        "sparse_softmax_cross_entropy" => Some(train::sparse_softmax_cross_entropy),
        _ => None,
    };
    scope.get().tensor(scope.py(), |g| {
        let predictions = args::output_of(g, predictions, None, "predictions")?;
        let is_sparse = kind == "sparse_softmax_cross_entropy";
        let like = (!is_sparse).then(|| predictions.dtype());
        let labels = match args::is_tensor(labels) {
            true => args::existing(labels)?,
            false => args::output_of(g, labels, like, "labels")?,
        };
        let labels = match like {
            Some(want) if labels.dtype() != want => g.cast(&labels, want),
            _ => labels,
        };
        let weights = weights.filter(|w| !w.is_none() && !is_one(w));
        let weights = weights.map(|w| args::output_of(g, w, None, "weights")).transpose()?;
        let weights = weights.as_ref();
        Ok(match (kind, simple) {
            (_, Some(loss)) => loss(g, &labels, &predictions, weights),
            ("huber_loss", _) => train::huber_loss(g, &labels, &predictions, setting.unwrap_or(1.0), weights),
            ("cosine_distance", _) => {
                let axis = setting.unwrap_or(-1.0) as i32;
                train::cosine_distance(g, &labels, &predictions, axis, weights)
            }
            _ => return Err(wrong_type(format!("no loss '{kind}'"))),
        })
    })
}

/// The weight 1.0, which TensorFlow has as default.
fn is_one(weights: &Bound<'_, PyAny>) -> bool {
    weights.extract::<f64>().is_ok_and(|w| w == 1.0)
}

#[pyfunction]
fn total_loss(scope: &Bound<'_, Scope>) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| Ok(train::total_loss(g)))
}

#[pyfunction]
fn sigmoid_cross_entropy_with_logits(
    scope: &Bound<'_, Scope>,
    labels: &Bound<'_, PyAny>,
    logits: &Bound<'_, PyAny>,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let logits = args::output_of(g, logits, None, "logits")?;
        let labels = args::output_of(g, labels, Some(logits.dtype()), "labels")?;
        Ok(train::sigmoid_cross_entropy_with_logits(g, &labels, &logits))
    })
}

/// A learning rate that decays with the global step.
#[pyfunction]
fn decay(
    scope: &Bound<'_, Scope>,
    kind: &str,
    rate: f64,
    step: &Bound<'_, PyAny>,
    decay_steps: f64,
    decay_rate: f64,
    staircase: bool,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let step = args::output_of(g, step, None, "global_step")?;
        Ok(match kind {
            "exponential" => schedules::exponential_decay(g, rate, &step, decay_steps, decay_rate, staircase),
            "natural_exp" => schedules::natural_exp_decay(g, rate, &step, decay_steps, decay_rate, staircase),
            "inverse_time" => {
                schedules::inverse_time_decay(g, rate, &step, decay_steps, decay_rate, staircase)
            }
            "cosine" => schedules::cosine_decay(g, rate, &step, decay_steps, decay_rate),
            other => return Err(wrong_type(format!("no schedule '{other}'"))),
        })
    })
}

/// `values[i]` up to and including step `boundaries[i]`.
#[pyfunction]
fn piecewise_constant(
    scope: &Bound<'_, Scope>,
    step: &Bound<'_, PyAny>,
    boundaries: Vec<i64>,
    values: Vec<f64>,
) -> PyResult<Py<Tensor>> {
    let py = scope.py();
    scope.get().tensor(py, |g| {
        let step = args::output_of(g, step, None, "x")?;
        schedules::piecewise_constant(g, &step, &boundaries, &values).or_raise(py)
    })
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let losses = PyModule::new(m.py(), "losses")?;
    losses.add_function(wrap_pyfunction!(loss, &losses)?)?;
    losses.add_function(wrap_pyfunction!(total_loss, &losses)?)?;
    losses.add_function(wrap_pyfunction!(sigmoid_cross_entropy_with_logits, &losses)?)?;
    losses.add_function(wrap_pyfunction!(piecewise_constant, &losses)?)?;
    losses.add_function(wrap_pyfunction!(decay, &losses)?)?;
    m.add_submodule(&losses)
}
