"""The engine's own models."""

from .estimator import Estimator
from ..layers import _activation
from ..train import optimizers as _optimizers


def _optimizer(given):
    """An optimizer of the engine, also by its name."""
    if given is None:
        return None
    if isinstance(given, str):
        classes = {"Adagrad": lambda: _optimizers.AdagradOptimizer(0.05), "Adam": lambda: _optimizers.AdamOptimizer(),
                   "Ftrl": lambda: _optimizers.FtrlOptimizer(0.05), "RMSProp": lambda: _optimizers.RMSPropOptimizer(0.05),
                   "SGD": lambda: _optimizers.GradientDescentOptimizer(0.05)}
        if given not in classes:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(classes))}")
        given = classes[given]()
    elif callable(given) and not isinstance(given, _optimizers.Optimizer):
        given = given()
    return given._engine


def _function(activation):
    if activation is None:
        return "Relu"
    name, other = _activation(activation)
    if other is not None:
        raise NotImplementedError("the activation_fn of a canned estimator must be one of tf.nn's")
    return name


class _Canned(Estimator):
    def __init__(self, model_dir, config, loss_reduction, weight_column, **settings):
        super().__init__(None, model_dir, config)
        reduction = getattr(loss_reduction, "value", loss_reduction)
        if reduction not in ("weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "sum_over_batch_size", "sum"):
            raise ValueError(f"Invalid loss_reduction: {reduction}")
        if weight_column is not None and not isinstance(weight_column, str):
            weight_column = weight_column.name
        self._canned = {"loss_is_mean": reduction not in ("weighted_sum", "sum"), "weight_column": weight_column,
                        **{k: v for k, v in settings.items() if v is not None}}


def _dropout(rate):
    return 0.0 if rate is None else rate


class DNNClassifier(_Canned):
    """A net of hidden layers over feature columns, for classification."""

    _kind = "DNNClassifier"

    def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None, optimizer="Adagrad",
                 activation_fn=None, dropout=None, config=None, warm_start_from=None, loss_reduction="weighted_sum", batch_norm=False):
        if batch_norm:
            raise NotImplementedError("DNNClassifier with batch_norm")
        super().__init__(model_dir, config, loss_reduction, weight_column, hidden_units=list(hidden_units), feature_columns=list(feature_columns),
                         n_classes=n_classes, label_vocabulary=label_vocabulary, optimizer=_optimizer(optimizer), activation=_function(activation_fn),
                         dropout=_dropout(dropout))


class DNNRegressor(_Canned):
    _kind = "DNNRegressor"

    def __init__(self, hidden_units, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer="Adagrad", activation_fn=None,
                 dropout=None, config=None, warm_start_from=None, loss_reduction="weighted_sum", batch_norm=False):
        if batch_norm:
            raise NotImplementedError("DNNRegressor with batch_norm")
        super().__init__(model_dir, config, loss_reduction, weight_column, hidden_units=list(hidden_units), feature_columns=list(feature_columns),
                         label_dimension=label_dimension, optimizer=_optimizer(optimizer), activation=_function(activation_fn),
                         dropout=_dropout(dropout))


class LinearClassifier(_Canned):
    """A weight for each number and id of feature columns."""

    _kind = "LinearClassifier"

    def __init__(self, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None, optimizer=None, config=None,
                 partitioner=None, warm_start_from=None, loss_reduction="weighted_sum", sparse_combiner="sum"):
        super().__init__(model_dir, config, loss_reduction, weight_column, feature_columns=list(feature_columns), n_classes=n_classes,
                         label_vocabulary=label_vocabulary, optimizer=None if optimizer in (None, "Ftrl") else _optimizer(optimizer))


class LinearRegressor(_Canned):
    _kind = "LinearRegressor"

    def __init__(self, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer=None, config=None, partitioner=None,
                 warm_start_from=None, loss_reduction="weighted_sum", sparse_combiner="sum"):
        super().__init__(model_dir, config, loss_reduction, weight_column, feature_columns=list(feature_columns), label_dimension=label_dimension,
                         optimizer=None if optimizer in (None, "Ftrl") else _optimizer(optimizer))


def _combined(linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout):
    return {"linear_feature_columns": list(linear_feature_columns or ()), "feature_columns": list(dnn_feature_columns or ()),
            "linear_optimizer": None if linear_optimizer == "Ftrl" else _optimizer(linear_optimizer),
            "optimizer": None if dnn_optimizer == "Adagrad" else _optimizer(dnn_optimizer), "hidden_units": list(dnn_hidden_units or ()),
            "activation": _function(dnn_activation_fn), "dropout": _dropout(dnn_dropout)}


class DNNLinearCombinedClassifier(_Canned):
    """Wide and deep: a linear part and a net."""

    _kind = "DNNLinearCombinedClassifier"

    def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None, dnn_optimizer="Adagrad",
                 dnn_hidden_units=None, dnn_activation_fn=None, dnn_dropout=None, n_classes=2, weight_column=None, label_vocabulary=None,
                 input_layer_partitioner=None, config=None, warm_start_from=None, loss_reduction="weighted_sum", batch_norm=False,
                 linear_sparse_combiner="sum"):
        super().__init__(model_dir, config, loss_reduction, weight_column, n_classes=n_classes, label_vocabulary=label_vocabulary,
                         **_combined(linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
                                     dnn_activation_fn, dnn_dropout))


class DNNLinearCombinedRegressor(_Canned):
    _kind = "DNNLinearCombinedRegressor"

    def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None, dnn_optimizer="Adagrad",
                 dnn_hidden_units=None, dnn_activation_fn=None, dnn_dropout=None, label_dimension=1, weight_column=None,
                 input_layer_partitioner=None, config=None, warm_start_from=None, loss_reduction="weighted_sum", batch_norm=False,
                 linear_sparse_combiner="sum"):
        super().__init__(model_dir, config, loss_reduction, weight_column, label_dimension=label_dimension,
                         **_combined(linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
                                     dnn_activation_fn, dnn_dropout))
