//! Checks of shapes. Broadcasting `[n]` against `[n, 1]` would silently give the loss of every label with every prediction.

use thalweg_client::{Code, Error, Output, Scope};

/// Labels and predictions must have the same shape; records an error otherwise.
#[track_caller]
pub(crate) fn same(g: &Scope, what: &str, labels: &Output, predictions: &Output) {
    let (labels, predictions) = (labels.shape(), predictions.shape());
    if labels.merge(&predictions).is_err() {
        let text = format!(
            "{what}: labels have shape {labels} but predictions {predictions}; they must be the same, reshape one of them"
        );
        g.mistake(Error::new(Code::InvalidArgument, text));
    }
}

/// Weights in a shape that broadcasts to the values: each dimension equal or 1. A superfluous last dimension of 1 is removed,
/// a missing one is added.
#[track_caller]
pub(crate) fn weights_for(g: &Scope, weights: &Output, values: &Output) -> Output {
    let (Some(have), Some(need)) = (weights.shape().rank(), values.shape().rank()) else {
        return weights.clone();
    };
    let fitted = if have == need + 1 {
        g.op("Squeeze").input(weights).attr("squeeze_dims", thalweg_client::Attr::ints(&[-1])).output()
    } else if have > 0 && have + 1 == need {
        g.expand_dims(weights, -1)
    } else {
        weights.clone()
    };
    let (shape, of_values) = (fitted.shape(), values.shape());
    let (have, need) = (shape.dims().unwrap_or_default(), of_values.dims().unwrap_or_default());
    let fits = |(w, v): (&i64, &i64)| *w == 1 || *w == -1 || *v == -1 || w == v;
    if !have.is_empty() && (have.len() != need.len() || !have.iter().zip(need).all(fits)) {
        let text = format!(
            "weights of shape {} do not fit values of shape {of_values}: each dimension must be the same or 1",
            weights.shape()
        );
        g.mistake(Error::new(Code::InvalidArgument, text));
    }
    fitted
}
