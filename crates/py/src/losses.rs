//! Losses and learning rate schedules of `train`, by their names in TensorFlow.

use crate::args;
use crate::columns;
use crate::errors::{OrRaise, wrong_type};
use crate::scope::Scope;
use crate::tensor::Tensor;
use crate::variables;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::{DataType, Output};
use thalweg_train::embedding::{self, PartitionStrategy};
use thalweg_train::feature_column::{SparseTensor, safe_embedding_lookup_sparse};
use thalweg_train::losses::{Candidates, OutputLayer};
use thalweg_train::schedules::Polynomial;
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
#[expect(clippy::too_many_arguments, reason = "called by one function of the package")]
fn decay(
    scope: &Bound<'_, Scope>,
    kind: &str,
    rate: f64,
    step: &Bound<'_, PyAny>,
    decay_steps: f64,
    decay_rate: f64,
    staircase: bool,
    end: f64,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let step = args::output_of(g, step, None, "global_step")?;
        Ok(match kind {
            "exponential" => schedules::exponential_decay(g, rate, &step, decay_steps, decay_rate, staircase),
            "natural_exp" => schedules::natural_exp_decay(g, rate, &step, decay_steps, decay_rate, staircase),
            "inverse_time" => {
                schedules::inverse_time_decay(g, rate, &step, decay_steps, decay_rate, staircase)
            }
            "polynomial" => {
                let to = Polynomial { end_rate: end, power: decay_rate, cycle: staircase };
                schedules::polynomial_decay(g, rate, &step, decay_steps, to)
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

/// The loss of a sample of the classes. `candidates` are sampled classes with the expected counts of true and of sampled ones; drawn if there are none.
#[pyfunction]
#[pyo3(signature = (scope, kind, weights, biases, labels, inputs, num_sampled, num_classes, seed=None, candidates=None, div=false))]
#[expect(clippy::too_many_arguments, reason = "called by one function of the package")]
fn sampled_loss(
    scope: &Bound<'_, Scope>,
    kind: &str,
    weights: Vec<Bound<'_, PyAny>>,
    biases: Vec<Bound<'_, PyAny>>,
    labels: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    num_sampled: i64,
    num_classes: i64,
    seed: Option<i64>,
    candidates: Option<[Bound<'_, PyAny>; 3]>,
    div: bool,
) -> PyResult<Py<Tensor>> {
    let of = |list: &[Bound<'_, PyAny>]| list.iter().map(variables::of).collect::<PyResult<Vec<_>>>();
    let (weights, biases) = (of(&weights)?, of(&biases)?);
    let strategy = if div { PartitionStrategy::Div } else { PartitionStrategy::Mod };
    scope.get().tensor(scope.py(), |g| {
        let labels = args::output_of(g, labels, None, "labels")?;
        let labels =
            if labels.dtype() == DataType::Int64 { labels } else { g.cast(&labels, DataType::Int64) };
        let inputs = args::output_of(g, inputs, None, "inputs")?;
        let candidates = match &candidates {
            Some([sampled, true_count, sampled_count]) => Candidates {
                sampled: args::existing(sampled)?,
                true_expected_count: args::existing(true_count)?,
                sampled_expected_count: args::existing(sampled_count)?,
            },
            None => Candidates::log_uniform(g, &labels, num_sampled, num_classes, seed),
        };
        let layer = OutputLayer { weights: &weights, biases: &biases, strategy };
        Ok(match kind {
            "sampled_softmax" => train::sampled_softmax_loss(g, layer, &labels, &inputs, &candidates),
            "nce" => train::nce_loss(g, layer, &labels, &inputs, &candidates),
            other => return Err(wrong_type(format!("no sampled loss '{other}'"))),
        })
    })
}

/// Rows of a table in parts.
#[pyfunction]
fn embedding_lookup(
    scope: &Bound<'_, Scope>,
    parts: Vec<Bound<'_, PyAny>>,
    ids: &Bound<'_, PyAny>,
    div: bool,
) -> PyResult<Py<Tensor>> {
    let parts = parts.iter().map(variables::of).collect::<PyResult<Vec<_>>>()?;
    let strategy = if div { PartitionStrategy::Div } else { PartitionStrategy::Mod };
    scope.get().tensor(scope.py(), |g| {
        let ids = args::output_of(g, ids, None, "ids")?;
        Ok(embedding::embedding_lookup(g, &parts, &ids, strategy))
    })
}

/// The combined rows of each example's ids, which are given by indices, values and shape; zeros without ids.
#[pyfunction]
fn embedding_lookup_sparse(
    scope: &Bound<'_, Scope>,
    table: &Bound<'_, PyAny>,
    ids: [Bound<'_, PyAny>; 3],
    weights: Option<&Bound<'_, PyAny>>,
    combiner: &str,
    width: usize,
) -> PyResult<Py<Tensor>> {
    let (table, combiner) = (variables::of(table)?, columns::combiner(combiner)?);
    let [indices, values, dense_shape] = ids;
    let ids = SparseTensor {
        indices: args::existing(&indices)?,
        values: args::existing(&values)?,
        dense_shape: args::existing(&dense_shape)?,
    };
    let weights = weights.filter(|w| !w.is_none()).map(args::existing).transpose()?;
    scope.get().tensor(scope.py(), |g| {
        let g = g.name_scope("embedding_lookup_sparse");
        Ok(safe_embedding_lookup_sparse(&g, &table, &ids, weights.as_ref(), combiner, width))
    })
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let losses = PyModule::new(m.py(), "losses")?;
    losses.add_function(wrap_pyfunction!(loss, &losses)?)?;
    losses.add_function(wrap_pyfunction!(sampled_loss, &losses)?)?;
    losses.add_function(wrap_pyfunction!(embedding_lookup, &losses)?)?;
    losses.add_function(wrap_pyfunction!(embedding_lookup_sparse, &losses)?)?;
    losses.add_function(wrap_pyfunction!(total_loss, &losses)?)?;
    losses.add_function(wrap_pyfunction!(sigmoid_cross_entropy_with_logits, &losses)?)?;
    losses.add_function(wrap_pyfunction!(piecewise_constant, &losses)?)?;
    losses.add_function(wrap_pyfunction!(decay, &losses)?)?;
    m.add_submodule(&losses)
}
