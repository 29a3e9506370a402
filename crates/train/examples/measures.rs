//! Every loss, every metric after two batches, and clipped gradients: `measures` prints them, for comparison with TensorFlow.

use thalweg_client::{Gradient, Output, Result, Scope, Session};
use thalweg_train::metrics::Metric;
use thalweg_train::{clip, losses, metrics};

/// A matrix of four rows.
fn matrix(g: &Scope, values: [f32; 12]) -> Output {
    g.reshape(g.constant(values.to_vec()), &[4, 3])
}

fn all_losses(g: &Scope) -> Vec<(&'static str, Output)> {
    let truth = matrix(g, [0., 1., 0., 1., 0., 0., 0., 0., 1., 1., 0., 0.]);
    let found = matrix(g, [0.2, 0.7, 0.1, 0.6, 0.3, 0.1, 0.25, 0.5, 0.25, 0.9, 0.05, 0.05]);
    let logits = matrix(g, [1.5, -0.5, 2.0, 0.1, 0.2, 0.3, -2.0, 4.0, 1.0, 0.0, 0.5, -0.5]);
    let classes = g.constant([1i64, 0, 2, 0]);
    let (each, rows) = (g.constant([[1f32], [0.0], [2.0], [0.5]]), g.constant([1f32, 0.0, 2.0, 0.5]));
    let each = Some(&each);
    vec![
        ("mean_squared_error", losses::mean_squared_error(g, &truth, &found, None)),
        ("mean_squared_error_weighted", losses::mean_squared_error(g, &truth, &found, each)),
        ("absolute_difference", losses::absolute_difference(g, &truth, &found, each)),
        ("huber_loss", losses::huber_loss(g, &truth, &logits, 0.8, each)),
        ("log_loss", losses::log_loss(g, &truth, &found, each)),
        ("hinge_loss", losses::hinge_loss(g, &truth, &logits, each)),
        ("cosine_distance", losses::cosine_distance(g, &truth, &found, 1, each)),
        ("sigmoid_cross_entropy", losses::sigmoid_cross_entropy(g, &truth, &logits, each)),
        ("softmax_cross_entropy", losses::softmax_cross_entropy(g, &truth, &logits, Some(&rows))),
        ("sparse_softmax", losses::sparse_softmax_cross_entropy(g, &classes, &logits, Some(&rows))),
        ("sparse_softmax_plain", losses::sparse_softmax_cross_entropy(g, &classes, &logits, None)),
    ]
}

/// Over labels, predictions between 0 and 1, and weights, all fed.
fn all_metrics(g: &Scope, labels: &Output, chances: &Output, weights: &Output) -> Vec<(String, Metric)> {
    let guesses = g.greater(chances, g.constant(0.5f32));
    let mut all = Vec::new();
    for (suffix, w) in [("", None), ("_weighted", Some(weights))] {
        let made = [
            ("mean", metrics::mean(g, chances, w)),
            ("accuracy", metrics::accuracy(g, labels, &g.cast(&guesses, labels.dtype()), w)),
            ("mean_squared_error", metrics::mean_squared_error(g, labels, chances, w)),
            ("root_mean_squared_error", metrics::root_mean_squared_error(g, labels, chances, w)),
            ("mean_absolute_error", metrics::mean_absolute_error(g, labels, chances, w)),
            ("precision", metrics::precision(g, labels, &guesses, w)),
            ("recall", metrics::recall(g, labels, &guesses, w)),
            ("auc", metrics::auc(g, labels, chances, w, 200)),
        ];
        all.extend(made.map(|(name, metric)| (format!("metric_{name}{suffix}"), metric)));
    }
    all
}

/// Each with a limit that clips and one that does not.
fn all_clipped(g: &Scope) -> Vec<(String, Output)> {
    let x = matrix(g, [0.2, -0.7, 0.1, 2.5, 0.3, -3.0, 0.25, 0.5, 0.25, 0.9, 0.05, 1.5]);
    let mut all = Vec::new();
    for limit in [0.2, 40.0] {
        all.push((format!("clip_by_value_{limit}"), clip::clip_by_value(g, &x, -limit, limit)));
        all.push((format!("clip_by_norm_{limit}"), clip::clip_by_norm(g, &x, limit)));
        all.push((format!("clip_by_average_norm_{limit}"), clip::clip_by_average_norm(g, &x, limit)));
        let (both, _) = clip::clip_by_global_norm(g, &[Gradient::Dense(x.clone()), Gradient::None], limit);
        let global = both.first().and_then(|d| d.dense(g));
        all.push((format!("clip_by_global_norm_{limit}"), global.unwrap_or_else(|| x.clone())));
    }
    all
}

fn main() -> Result<()> {
    let g = Scope::new();
    let losses = all_losses(&g);
    // The two batches are halves of these.
    let half = g.placeholder(thalweg_client::DataType::Int32, &[1]);
    let part = |all: &Output| {
        let size = g.constant([5]);
        g.op("Slice").input(all).input(&half).input(&size).output()
    };
    let labels = part(&g.constant(vec![1i64, 0, 1, 1, 0, 0, 1, 0, 1, 0]));
    let chances = part(&g.constant(vec![0.9f32, 0.4, 0.3, 0.8, 0.6, 0.1, 0.55, 0.7, 0.45, 0.2]));
    let weights = part(&g.constant(vec![1f32, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0, 0.25, 2.0, 1.5]));
    let metrics = all_metrics(&g, &labels, &chances, &weights);
    let clipped = all_clipped(&g);
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for (name, x) in &clipped {
        for (i, value) in session.run(x, &[])?.as_slice::<f32>()?.iter().enumerate() {
            println!("{name}/{i} {value:?}");
        }
    }
    for (name, loss) in &losses {
        println!("{name} {:?}", session.run(loss, &[])?.to_scalar::<f32>()?);
    }
    for (name, metric) in &metrics {
        for start in [0i32, 5] {
            session.run(&metric.update, &[thalweg_client::feed(&half, vec![start])])?;
        }
        println!("{name} {:?}", session.run(&metric.value, &[])?.to_scalar::<f32>()?);
    }
    Ok(())
}
