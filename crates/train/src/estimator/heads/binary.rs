//! Binary classification by one logit.

use crate::losses::sigmoid_cross_entropy_with_logits;
use crate::metrics::{self, Metric};
use thalweg_client::{DataType, Operation, Output, Scope};

/// Probabilities of both classes as columns, and of class 1.
pub fn probabilities(g: &Scope, logits: &Output) -> (Output, Output) {
    let two = g.concat(&[&g.zeros_like(logits), logits], 1);
    (g.softmax(&two), g.sigmoid(logits))
}

/// The cross entropy of each example.
pub fn losses(g: &Scope, logits: &Output, labels: &Output) -> Output {
    sigmoid_cross_entropy_with_logits(g, labels, logits)
}

/// Metrics that only binary classification has.
pub fn metrics(
    g: &Scope,
    ids: &Output,
    logits: &Output,
    found: &Output,
    weights: Option<&Output>,
) -> Vec<(String, Metric)> {
    let chance = g.sigmoid(logits);
    let labels = g.cast(ids, DataType::Float);
    let label_mean = metrics::mean(g, &labels, weights);
    // Accuracy of always predicting the more frequent class.
    let rest = &g.number(1.0, DataType::Float) - &label_mean.value;
    let value = g.maximum(&label_mean.value, &rest);
    let baseline = Metric { updated: value.clone(), value, ..label_mean.clone() };
    let named = |name: &str, metric: Metric| (name.to_string(), metric);
    vec![
        named("accuracy_baseline", baseline),
        named("label/mean", Metric { update: g.group::<Operation>(&[]), ..label_mean }),
        named("prediction/mean", metrics::mean(g, &chance, weights)),
        named("precision", metrics::precision(g, ids, found, weights)),
        named("recall", metrics::recall(g, ids, found, weights)),
        named("auc", metrics::auc(g, &labels, &chance, weights, 200)),
    ]
}
