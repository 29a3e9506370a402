//! Multi-class: one logit per class.

use crate::metrics::{self, Metric};
use thalweg_client::{Output, Scope};

/// The cross entropy of each example, in a column.
pub fn losses(g: &Scope, logits: &Output, ids: &Output) -> Output {
    let ids = g.reshape(ids, &[-1]);
    let losses = g.op("SparseSoftmaxCrossEntropyWithLogits").input(logits).input(&ids).output();
    g.reshape(&losses, &[-1, 1])
}

/// Metrics of any classifier.
pub fn metrics(
    g: &Scope,
    ids: &Output,
    found: &Output,
    losses: &Output,
    weights: Option<&Output>,
) -> Vec<(String, Metric)> {
    vec![
        ("accuracy".into(), metrics::accuracy(g, ids, found, weights)),
        ("average_loss".into(), metrics::mean(g, losses, weights)),
    ]
}
