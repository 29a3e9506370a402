"""Metrics over many batches: the engine's. Each function returns the measure so far, and the measure after this run's batch is added."""

from . import _engine
from ._graphs import current_scope, get_default_graph


def _metric(kind, labels, predictions, weights, metrics_collections, updates_collections, thresholds=200):
    value, update = _engine.metric(current_scope(), kind, labels, predictions, weights, thresholds)
    graph = get_default_graph()
    graph.add_to_collections(metrics_collections, value)
    graph.add_to_collections(updates_collections, update)
    return value, update


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    return _metric("mean", None, values, weights, metrics_collections, updates_collections)


def _of_labels(kind):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        return _metric(kind, labels, predictions, weights, metrics_collections, updates_collections)

    metric.__name__ = kind
    return metric


accuracy, precision, recall, mean_squared_error, root_mean_squared_error, mean_absolute_error = map(
    _of_labels, ("accuracy", "precision", "recall", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error"))


def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None, curve="ROC", name=None,
        summation_method="trapezoidal", thresholds=None):
    """The area under the ROC curve, by the trapezoidal rule."""
    if curve != "ROC" or summation_method != "trapezoidal" or thresholds is not None:
        raise NotImplementedError("tf.metrics.auc: only curve='ROC' by the trapezoidal rule over num_thresholds")
    return _metric("auc", labels, predictions, weights, metrics_collections, updates_collections, num_thresholds)
