//! Metrics: measures accumulated over many batches, in local variables.

use crate::initializers::Zeros;
use crate::losses::shapes::{same, weights_for};
use thalweg_client::{DataType, Operation, Output, Scope, Variable, VariableOptions, keys};

/// A measure with its state.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The measure over all batches since the last reset.
    pub value: Output,
    /// Adds a batch.
    pub update: Operation,
    /// The measure after the batch of this run is added.
    pub updated: Output,
    /// Resets the counts.
    pub reset: Operation,
}

/// The counts of one metric.
struct State<'a> {
    g: &'a Scope,
    counts: Vec<Variable>,
    updates: Vec<Operation>,
}

impl<'a> State<'a> {
    fn new(g: &'a Scope) -> Self {
        State { g, counts: Vec::new(), updates: Vec::new() }
    }

    /// A count that grows by `amount` with each batch.
    fn count(&mut self, name: &str, dims: &[usize], amount: &Output) {
        let options = VariableOptions { dtype: DataType::Float, trainable: false };
        let v = self.g.get_variable_with(name, dims, &Zeros, options);
        self.g.add_to_collection(keys::LOCAL_VARIABLES, &v.handle);
        self.updates.push(v.assign_add(self.g.cast(amount, DataType::Float)));
        self.counts.push(v);
    }

    /// The measure as a function of the counts, in the order they were made.
    fn metric(self, measure: impl Fn(&Scope, &[Output]) -> Output) -> Metric {
        let g = self.g;
        let resets: Vec<Operation> = self.counts.iter().map(|v| v.assign(g.zeros_like(&v.value))).collect();
        let values: Vec<Output> = self.counts.iter().map(|v| v.value.clone()).collect();
        let value = measure(g, &values);
        let update = g.group(&self.updates);
        let after = g.control_dependencies(&[&update]);
        let updated: Vec<Output> = self.counts.iter().map(|v| v.read(&after)).collect();
        Metric { value, updated: measure(&g.name_scope("update"), &updated), update, reset: g.group(&resets) }
    }
}

/// Of two counts, the part that the first is of both.
fn part_of_both(g: &Scope, counts: &[Output]) -> Output {
    match counts {
        [hits, others] => ratio(g, hits, &(hits + others)),
        _ => g.number(0.0, DataType::Float),
    }
}

fn ratio(g: &Scope, a: &Output, b: &Output) -> Output {
    g.op("DivNoNan").name("value").input(a).input(b).output()
}

/// The mean of all values seen.
#[track_caller]
pub fn mean(g: &Scope, values: &Output, weights: Option<&Output>) -> Metric {
    mean_in(&g.default_variable_scope("mean"), values, weights)
}

/// The mean, with its counts in this scope.
#[track_caller]
fn mean_in(g: &Scope, values: &Output, weights: Option<&Output>) -> Metric {
    let values = g.cast(values, DataType::Float);
    let (sum, count) = match weights {
        None => (g.reduce_sum(&values, &[]), g.cast(g.size(&values), DataType::Float)),
        Some(w) => {
            let w = weights_for(g, &g.cast(w, DataType::Float), &values) * g.ones_like(&values);
            (g.reduce_sum(&values * &w, &[]), g.reduce_sum(&w, &[]))
        }
    };
    let mut state = State::new(g);
    state.count("total", &[], &sum);
    state.count("count", &[], &count);
    state.metric(|g, counts| match counts {
        [total, count] => ratio(g, total, count),
        _ => sum.clone(),
    })
}

/// How often labels and predictions agree.
#[track_caller]
pub fn accuracy(g: &Scope, labels: &Output, predictions: &Output, weights: Option<&Output>) -> Metric {
    let g = g.default_variable_scope("accuracy");
    same(&g, "accuracy", labels, predictions);
    let predictions = if predictions.dtype() == labels.dtype() {
        predictions.clone()
    } else {
        g.cast(predictions, labels.dtype())
    };
    mean_in(&g, &g.equal(labels, &predictions), weights)
}

/// The mean of the squares of all errors seen.
#[track_caller]
pub fn mean_squared_error(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
) -> Metric {
    let g = g.default_variable_scope("mean_squared_error");
    mean_in(&g, &squared_errors(&g, labels, predictions), weights)
}

/// The root of the mean of the squares of all errors seen.
#[track_caller]
pub fn root_mean_squared_error(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
) -> Metric {
    let g = g.default_variable_scope("root_mean_squared_error");
    let squares = mean_in(&g, &squared_errors(&g, labels, predictions), weights);
    Metric { value: g.sqrt(&squares.value), updated: g.sqrt(&squares.updated), ..squares }
}

/// The mean of the absolute errors seen.
#[track_caller]
pub fn mean_absolute_error(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
) -> Metric {
    let g = g.default_variable_scope("mean_absolute_error");
    same(&g, "mean_absolute_error", labels, predictions);
    let (labels, predictions) = (g.cast(labels, DataType::Float), g.cast(predictions, DataType::Float));
    mean_in(&g, &g.abs(predictions - labels), weights)
}

#[track_caller]
fn squared_errors(g: &Scope, labels: &Output, predictions: &Output) -> Output {
    same(g, "a metric of errors", labels, predictions);
    g.squared_difference(g.cast(labels, DataType::Float), g.cast(predictions, DataType::Float))
}

/// Labels and predictions as booleans, with their weights.
struct Comparison<'a> {
    g: &'a Scope,
    labels: Output,
    predictions: Output,
    weights: Option<Output>,
}

impl<'a> Comparison<'a> {
    #[track_caller]
    fn new(g: &'a Scope, labels: &Output, predictions: &Output, weights: Option<&Output>) -> Self {
        same(g, "a metric of hits", labels, predictions);
        Comparison {
            g,
            labels: g.cast(labels, DataType::Bool),
            predictions: g.cast(predictions, DataType::Bool),
            weights: weights.map(|w| weights_for(g, &g.cast(w, DataType::Float), labels)),
        }
    }

    /// The weighted number of elements with this label and this prediction.
    fn count(&self, label: bool, prediction: bool) -> Output {
        let g = self.g;
        let side = |x: &Output, wanted: bool| if wanted { x.clone() } else { g.logical_not(x) };
        let both = g.logical_and(side(&self.labels, label), side(&self.predictions, prediction));
        let mut both = g.cast(both, DataType::Float);
        if let Some(weights) = &self.weights {
            both = both * weights;
        }
        g.reduce_sum(both, &[])
    }
}

/// True positives divided by predicted positives.
#[track_caller]
pub fn precision(g: &Scope, labels: &Output, predictions: &Output, weights: Option<&Output>) -> Metric {
    let g = g.default_variable_scope("precision");
    let (mut state, comparison) = (State::new(&g), Comparison::new(&g, labels, predictions, weights));
    state.count("true_positives", &[], &comparison.count(true, true));
    state.count("false_positives", &[], &comparison.count(false, true));
    state.metric(part_of_both)
}

/// True positives divided by actual positives.
#[track_caller]
pub fn recall(g: &Scope, labels: &Output, predictions: &Output, weights: Option<&Output>) -> Metric {
    let g = g.default_variable_scope("recall");
    let (mut state, comparison) = (State::new(&g), Comparison::new(&g, labels, predictions, weights));
    state.count("true_positives", &[], &comparison.count(true, true));
    state.count("false_negatives", &[], &comparison.count(true, false));
    state.metric(part_of_both)
}

/// The area under the ROC curve, by the trapezoidal rule over this many thresholds.
#[track_caller]
pub fn auc(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
    thresholds: usize,
) -> Metric {
    let g = g.default_variable_scope("auc");
    let steps = thresholds.max(2);
    let inner = (1..steps - 1).map(|i| i as f32 / (steps - 1) as f32);
    let all: Vec<f32> = std::iter::once(-1e-7).chain(inner).chain(std::iter::once(1.0 + 1e-7)).collect();
    let column = g.reshape(g.constant(all), &[-1, 1]);
    let row = |x: Output| g.reshape(x, &[1, -1]);
    let above = g.greater(row(g.cast(predictions, DataType::Float)), column);
    let label = row(g.cast(labels, DataType::Bool));
    let weights = weights.map(|w| row(g.cast(w, DataType::Float)));
    let count = |above: &Output, label: &Output| {
        let both = g.cast(g.logical_and(above, label), DataType::Float);
        let both = match &weights {
            Some(w) => both * w,
            None => both,
        };
        g.reduce_sum(both, &[1])
    };
    let (below, not) = (g.logical_not(&above), g.logical_not(&label));
    let mut state = State::new(&g);
    state.count("true_positives", &[steps], &count(&above, &label));
    state.count("false_negatives", &[steps], &count(&below, &label));
    state.count("true_negatives", &[steps], &count(&below, &not));
    state.count("false_positives", &[steps], &count(&above, &not));
    state.metric(|g, counts| area(g, counts, steps))
}

/// The area under the curve of these counts at each threshold: true and false positives and negatives.
fn area(g: &Scope, counts: &[Output], steps: usize) -> Output {
    let [tp, fneg, tn, fp] = counts else { return g.number(0.0, DataType::Float) };
    let tiny = g.number(1e-6, DataType::Float);
    let recall = (tp + &tiny) / (tp + fneg + &tiny);
    let fall_out = fp / (fp + tn + &tiny);
    let (n, half) = (steps as i32 - 1, g.number(0.5, DataType::Float));
    let (from, to) = (|x: &Output| g.slice(x, &[0], &[n]), |x: &Output| g.slice(x, &[1], &[n]));
    let width = from(&fall_out) - to(&fall_out);
    let height = (from(&recall) + to(&recall)) * half;
    g.reduce_sum(width * height, &[])
}
