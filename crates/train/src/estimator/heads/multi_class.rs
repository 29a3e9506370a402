//! Classes by one number each.

use crate::metrics::{self, Metric};
use thalweg_client::{Output, Scope};

/// The cross entropy of each example.
pub fn losses(g: &Scope, logits: &Output, ids: &Output) -> Output {
    let ids = g.reshape(ids, &[-1]);
    g.op("SparseSoftmaxCrossEntropyWithLogits").input(logits).input(&ids).output()
}

/// What is measured of any classifier.
pub fn metrics(g: &Scope, ids: &Output, found: &Output, losses: &Output) -> Vec<(String, Metric)> {
    vec![
        ("accuracy".into(), metrics::accuracy(g, ids, found, None)),
        ("average_loss".into(), metrics::mean(g, losses, None)),
    ]
}
