"""Losses, to be minimised: the engine's."""

from . import _engine
from ._graphs import GraphKeys, current_scope, get_collection

_loss = _engine.losses.loss


class Reduction:
    NONE, SUM, MEAN = "none", "weighted_sum", "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS, SUM_OVER_BATCH_SIZE = "weighted_sum_by_nonzero_weights", "weighted_sum_over_batch_size"


def _made(kind, labels, predictions, weights, reduction, setting=None):
    if reduction != Reduction.SUM_BY_NONZERO_WEIGHTS:
        raise NotImplementedError(f"tf.losses.{kind}: only Reduction.SUM_BY_NONZERO_WEIGHTS")
    return _loss(current_scope(), kind, labels, predictions, weights, setting)


def mean_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("mean_squared_error", labels, predictions, weights, reduction)


def absolute_difference(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("absolute_difference", labels, predictions, weights, reduction)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("huber_loss", labels, predictions, weights, reduction, delta)


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("log_loss", labels, predictions, weights, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("hinge_loss", labels, logits, weights, reduction)


def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS, dim=None):
    return _made("cosine_distance", labels, predictions, weights, reduction, float(dim if axis is None else axis))


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("sigmoid_cross_entropy", multi_class_labels, logits, weights, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("softmax_cross_entropy", onehot_labels, logits, weights, reduction)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                                 reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    return _made("sparse_softmax_cross_entropy", labels, logits, weights, reduction)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_total_loss(add_regularization_losses=True, name="total_loss"):
    from ._mathematics import add_n

    return add_n(get_losses() + (get_regularization_losses() if add_regularization_losses else []), name=name)
