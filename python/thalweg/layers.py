"""Layers: a few ops and the variables they need. The engine makes both."""

import contextlib

from . import _engine
from ._graphs import convert_to_tensor, current_scope, get_default_graph, name_scope, GraphKeys
from ._eager import executing_eagerly
from ._op_functions import OpFunction

_engine_layers = _engine.layers


def _activation(function):
    """The engine's name of an activation; an activation that it does not know is called afterwards."""
    if function is None:
        return "", None
    if isinstance(function, OpFunction) and function._op in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "Tanh", "Sigmoid"):
        return function._op, None
    from . import _mathematics

    if function is _mathematics.sigmoid:
        return "Sigmoid", None
    return "", function


@contextlib.contextmanager
def _reusing(name, reuse):
    """In a scope that reuses, if asked to."""
    if not reuse:
        yield
        return
    if name is None:
        raise ValueError("a layer with reuse=True needs a name")
    graph = get_default_graph()
    at = graph._scope
    full = at.variable_scope_name()[0]
    with graph._entered(at.variable_scope_again(full, True, False)):
        yield


def _finish(x, activation, before, kernel_regularizer, bias_regularizer):
    """Losses of the new variables, and the activation."""
    graph = get_default_graph()
    from ._variables import get_variable_scope

    # That of the variable scope, for those that have none.
    usual = get_variable_scope().regularizer
    kernel_regularizer, bias_regularizer = kernel_regularizer or usual, bias_regularizer or usual
    if kernel_regularizer or bias_regularizer:
        for v in graph._root.trainable_variables()[before:]:
            regularizer = bias_regularizer if v.op.name.endswith("/bias") else kernel_regularizer
            if regularizer is not None:
                with name_scope(v.op.name + "/Regularizer/"):
                    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(v))
    return x if activation is None else activation(x)


def _count():
    return len(get_default_graph()._root.trainable_variables())


def dense(inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=None, kernel_regularizer=None,
          bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """A fully connected layer: `activation(inputs kernel + bias)`."""
    if executing_eagerly():
        return Dense(units, activation, use_bias, kernel_initializer, bias_initializer, name=name)(inputs)
    known, function = _activation(activation)
    before = _count()
    settings = {"activation": known, "use_bias": use_bias, "kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer,
                "name": name, "trainable": trainable}
    with _reusing(name, reuse):
        x = _engine_layers.dense(current_scope(), inputs, units, settings)
    return _finish(x, function, before, kernel_regularizer, bias_regularizer)


def _two(value):
    return [value, value] if isinstance(value, int) else list(value)


def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1), activation=None,
           use_bias=True, kernel_initializer=None, bias_initializer=None, kernel_regularizer=None, bias_regularizer=None,
           activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """A convolution over images [batch, height, width, channels]."""
    if data_format != "channels_last" or _two(dilation_rate) != [1, 1]:
        raise NotImplementedError("tf.layers.conv2d: only channels_last and no dilation")
    if executing_eagerly():
        return Conv2D(filters, kernel_size, strides, padding, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                      bias_initializer=bias_initializer, name=name)(inputs)
    known, function = _activation(activation)
    before = _count()
    settings = {"activation": known, "use_bias": use_bias, "kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer,
                "name": name, "strides": _two(strides), "padding": padding, "trainable": trainable}
    with _reusing(name, reuse):
        x = _engine_layers.conv2d(current_scope(), inputs, filters, _two(kernel_size), settings)
    return _finish(x, function, before, kernel_regularizer, bias_regularizer)


def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return _engine_layers.pooling2d(current_scope(), inputs, "max", _two(pool_size), _two(strides), padding)


def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return _engine_layers.pooling2d(current_scope(), inputs, "average", _two(pool_size), _two(strides), padding)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """In training, a random part of the elements is zero."""
    def dropped():
        return _engine_layers.dropout(current_scope(), inputs, rate, seed)

    inputs = convert_to_tensor(inputs)
    if isinstance(training, (bool, int)):
        return dropped() if training and rate else inputs
    from ._control_flow import cond

    return cond(training, dropped, lambda: inputs)


def flatten(inputs, name=None, data_format="channels_last"):
    return _engine_layers.flatten(current_scope(), inputs)


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, training=False, trainable=True, name=None,
                        reuse=None, **ignored):
    """Normalises over the batch in training, by moving averages otherwise. Run the collection UPDATE_OPS with each step."""
    if not (center and scale):
        raise NotImplementedError("tf.layers.batch_normalization without center or scale")
    if axis not in (-1, (convert_to_tensor(inputs).shape.rank or 0) - 1):
        raise NotImplementedError("tf.layers.batch_normalization: of the last axis only")
    if executing_eagerly():
        return BatchNormalization(axis, momentum, epsilon, name=name)(inputs, training=training)
    settings = {"momentum": momentum, "epsilon": epsilon, "name": name}
    root = get_default_graph()._root
    before = len(root.global_variables())
    with _reusing(name, reuse):
        y = _engine_layers.batch_normalization(current_scope(), inputs, training, settings)
    from ._variables import get_variable_scope

    usual = get_variable_scope().regularizer
    for v in root.global_variables()[before:] if usual is not None else ():
        with name_scope(v.op.name + "/Regularizer/"):
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, usual(v))
    return y


def separable_conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
                     depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None, name=None,
                     reuse=None, **ignored):
    """A convolution of each channel, then of the channels at each place."""
    if data_format != "channels_last" or _two(dilation_rate) != [1, 1]:
        raise NotImplementedError("tf.layers.separable_conv2d: only channels_last and no dilation")
    known, function = _activation(activation)
    settings = {"activation": known, "use_bias": use_bias, "depthwise_initializer": depthwise_initializer,
                "pointwise_initializer": pointwise_initializer, "name": name, "strides": _two(strides), "padding": padding,
                "depth_multiplier": depth_multiplier}
    with _reusing(name, reuse):
        x = _engine_layers.separable_conv2d(current_scope(), inputs, filters, _two(kernel_size), settings)
    return x if function is None else function(x)


def conv2d_transpose(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None, use_bias=True,
                     kernel_initializer=None, bias_initializer=None, kernel_regularizer=None, bias_regularizer=None, name=None, reuse=None,
                     **ignored):
    """The transpose of a convolution, which makes images larger."""
    if data_format != "channels_last":
        raise NotImplementedError("tf.layers.conv2d_transpose: only channels_last")
    known, function = _activation(activation)
    before = _count()
    settings = {"activation": known, "use_bias": use_bias, "kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer,
                "name": name, "strides": _two(strides), "padding": padding}
    with _reusing(name, reuse):
        x = _engine_layers.conv2d_transpose(current_scope(), inputs, filters, _two(kernel_size), settings)
    return _finish(x, function, before, kernel_regularizer, bias_regularizer)


def conv1d(inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", name=None, **given):
    """A convolution over sequences: the engine's over images of one row."""
    from ._arrays import expand_dims, squeeze

    one = lambda v: v[0] if isinstance(v, (list, tuple)) else v
    wide = expand_dims(convert_to_tensor(inputs), 1)
    return squeeze(conv2d(wide, filters, (1, one(kernel_size)), (1, one(strides)), padding, data_format, name=name or "conv1d", **given), [1])


def _pooled1d(pool):
    def pooling(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
        from ._arrays import expand_dims, squeeze

        one = lambda v: v[0] if isinstance(v, (list, tuple)) else v
        return squeeze(pool(expand_dims(convert_to_tensor(inputs), 1), (1, one(pool_size)), (1, one(strides)), padding), [1])

    return pooling


max_pooling1d, average_pooling1d = _pooled1d(max_pooling2d), _pooled1d(average_pooling2d)


from ._layer_objects import AveragePooling2D, BatchNormalization, Conv2D, Dense, Dropout, Flatten, Layer, MaxPooling2D  # noqa: E402
