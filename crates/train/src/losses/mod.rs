//! Losses, to be minimized. Each is the mean over all elements, weighted if weights are given, and is added to
//! the collection `LOSSES`.

mod sampled;
pub(crate) mod shapes;

pub use sampled::{Candidates, OutputLayer, nce_loss, sampled_softmax_loss};

use thalweg_client::{Output, Scope, keys};

/// The sum of all losses of the graph: those of the loss functions and of regularization.
#[track_caller]
pub fn total_loss(g: &Scope) -> Output {
    let mut all = g.collection(keys::LOSSES);
    all.extend(g.collection(keys::REGULARIZATION_LOSSES));
    g.add_n(&all)
}

/// The sum divided by the number of nonzero weights: TensorFlow's `SUM_BY_NONZERO_WEIGHTS`.
#[track_caller]
pub fn weighted(g: &Scope, losses: &Output, weights: Option<&Output>) -> Output {
    let loss = match weights {
        None => {
            let axes: Vec<i32> = (0..losses.shape().rank().unwrap_or(0) as i32).collect();
            g.op("Mean").name("value").input(losses).input(g.constant(axes)).output()
        }
        Some(w) => {
            let w = shapes::weights_for(g, &g.cast(w, losses.dtype()), losses);
            let total = g.reduce_sum(losses * &w, &[]);
            let zero = g.number(0.0, losses.dtype());
            let present = g.cast(g.not_equal(w, zero), losses.dtype());
            let count = g.reduce_sum(present * g.ones_like(losses), &[]);
            g.op("DivNoNan").name("value").input(total).input(count).output()
        }
    };
    g.add_to_collection(keys::LOSSES, &loss);
    loss
}

/// `(predictions - labels)^2`.
#[track_caller]
pub fn mean_squared_error(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("mean_squared_error");
    shapes::same(&g, "mean_squared_error", labels, predictions);
    weighted(&g, &g.squared_difference(predictions, labels), weights)
}

/// `|predictions - labels|`.
#[track_caller]
pub fn absolute_difference(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("absolute_difference");
    shapes::same(&g, "absolute_difference", labels, predictions);
    weighted(&g, &g.abs(predictions - labels), weights)
}

/// Squared for small errors, linear beyond `delta`.
#[track_caller]
pub fn huber_loss(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    delta: f64,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("huber_loss");
    shapes::same(&g, "huber_loss", labels, predictions);
    let error = g.abs(predictions - labels);
    let limit = g.number(delta, error.dtype());
    let quadratic = g.minimum(&error, &limit);
    let linear = &error - &quadratic;
    let half = g.number(0.5, error.dtype());
    let losses = half * (&quadratic * &quadratic) + limit * linear;
    weighted(&g, &losses, weights)
}

/// The log likelihood of probabilities in (0, 1).
#[track_caller]
pub fn log_loss(g: &Scope, labels: &Output, predictions: &Output, weights: Option<&Output>) -> Output {
    let g = g.name_scope("log_loss");
    shapes::same(&g, "log_loss", labels, predictions);
    let dtype = predictions.dtype();
    let (one, tiny) = (g.number(1.0, dtype), g.number(1e-7, dtype));
    let hit = labels * g.log(predictions + &tiny);
    let miss = (&one - labels) * g.log(&one - predictions + &tiny);
    weighted(&g, &g.neg(hit + miss), weights)
}

/// For labels of 0 and 1.
#[track_caller]
pub fn hinge_loss(g: &Scope, labels: &Output, logits: &Output, weights: Option<&Output>) -> Output {
    let g = g.name_scope("hinge_loss");
    shapes::same(&g, "hinge_loss", labels, logits);
    let (one, two) = (g.number(1.0, logits.dtype()), g.number(2.0, logits.dtype()));
    let signs = two * labels - &one;
    weighted(&g, &g.relu(one - signs * logits), weights)
}

/// For independent binary labels.
#[track_caller]
pub fn sigmoid_cross_entropy(
    g: &Scope,
    labels: &Output,
    logits: &Output,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("sigmoid_cross_entropy_loss");
    shapes::same(&g, "sigmoid_cross_entropy", labels, logits);
    weighted(&g, &sigmoid_cross_entropy_with_logits(&g, labels, logits), weights)
}

/// Elementwise, in the form that does not overflow: `max(x, 0) - x z + log(1 + exp(-|x|))`.
#[track_caller]
pub fn sigmoid_cross_entropy_with_logits(g: &Scope, labels: &Output, logits: &Output) -> Output {
    let tail = g.log1p(g.exp(g.neg(g.abs(logits))));
    g.relu(logits) - logits * labels + tail
}

/// Labels are class probabilities.
#[track_caller]
pub fn softmax_cross_entropy(
    g: &Scope,
    labels: &Output,
    logits: &Output,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("softmax_cross_entropy_loss");
    let labels = g.stop_gradient(g.cast(labels, logits.dtype()));
    let losses = g.op("SoftmaxCrossEntropyWithLogits").input(logits).input(labels).output();
    weighted(&g, &losses, weights)
}

/// Labels are class ids.
#[track_caller]
pub fn sparse_softmax_cross_entropy(
    g: &Scope,
    labels: &Output,
    logits: &Output,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("sparse_softmax_cross_entropy_loss");
    let losses = g.op("SparseSoftmaxCrossEntropyWithLogits").input(logits).input(labels).output();
    weighted(&g, &losses, weights)
}

/// `1 -` the cosine of the angle between vectors of length 1 along `axis`.
#[track_caller]
pub fn cosine_distance(
    g: &Scope,
    labels: &Output,
    predictions: &Output,
    axis: i32,
    weights: Option<&Output>,
) -> Output {
    let g = g.name_scope("cosine_distance_loss");
    shapes::same(&g, "cosine_distance", labels, predictions);
    let along = g.reduce_sum_kept(predictions * labels, &[axis]);
    weighted(&g, &(g.number(1.0, along.dtype()) - along), weights)
}

/// `scale * sum(w^2) / 2`, in the collection of regularization losses.
#[track_caller]
pub fn l2_regularization(g: &Scope, weights: &Output, scale: f64) -> Output {
    let loss = g.l2_loss(weights) * g.number(scale, weights.dtype());
    g.add_to_collection(keys::REGULARIZATION_LOSSES, &loss);
    loss
}

/// `scale * sum(|w|)`, in the collection of regularization losses.
#[track_caller]
pub fn l1_regularization(g: &Scope, weights: &Output, scale: f64) -> Output {
    let loss = g.reduce_sum(g.abs(weights), &[]) * g.number(scale, weights.dtype());
    g.add_to_collection(keys::REGULARIZATION_LOSSES, &loss);
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_client::Session;

    fn told(build: impl Fn(&Scope) -> Output) -> String {
        let g = Scope::new();
        build(&g);
        g.check().unwrap_err().to_string()
    }

    #[test]
    fn a_row_of_labels_for_a_column_of_predictions_is_told() {
        let e = told(|g| mean_squared_error(g, &g.constant([1f32, 2.0]), &g.constant([[1f32], [2.0]]), None));
        assert!(e.contains("labels have shape [2] but predictions [2,1]"), "{e}");
        assert!(e.contains("losses/mod.rs"), "{e}");
    }

    #[test]
    fn weights_fit_by_a_last_dimension_of_one_or_not_at_all() {
        let loss = |weights: fn(&Scope) -> Output| {
            let g = Scope::new();
            let (x, y) = (g.constant([[1f32, 2.0], [3.0, 4.0]]), g.constant([[0f32, 0.0], [0.0, 0.0]]));
            let loss = absolute_difference(&g, &x, &y, Some(&weights(&g)));
            Session::new(&g).and_then(|s| s.run(&loss, &[])).and_then(|t| t.to_scalar::<f32>())
        };
        assert_eq!(loss(|g| g.constant([2f32, 0.0])).unwrap(), 3.0);
        assert_eq!(loss(|g| g.constant([[2f32], [0.0]])).unwrap(), 3.0);
        assert_eq!(loss(|g| g.constant(2f32)).unwrap(), 5.0);
        let e = loss(|g| g.constant([1f32, 1.0, 1.0])).unwrap_err().to_string();
        assert!(e.contains("weights of shape [3] do not fit values of shape [2,2]"), "{e}");
    }
}
