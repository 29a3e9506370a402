"""Layers as objects, which keep their variables: in graphs, in functions, and in eager execution."""

import inspect

from . import _engine
from ._eager import executing_eagerly
from ._function import FuncGraph
from ._graphs import convert_to_tensor, get_default_graph
from ._shapes import TensorShape

_counts = {}


def _unique(base):
    """`dense`, `dense_1`, ..: no two layers of a program have the same name."""
    number = _counts.get(base, 0)
    _counts[base] = number + 1
    return base if number == 0 else f"{base}_{number}"


class Layer:
    """A layer: its variables are made when it is first called, and shared by all later calls."""

    _base = "layer"

    def __init__(self, name=None, **settings):
        self._given = name
        self._settings = settings
        self._built_in = None
        #: With values, by full name; else those of the graph.
        self._with_values, self._of_graph = {}, []
        self._calls = {}

    @property
    def _name(self):
        """Decided when it is first needed: in a graph the names of its scopes count, else those of the program."""
        if self._given is None:
            graph = get_default_graph()
            in_graph = not executing_eagerly() and not graph.building_function
            self._given = graph._scopes[-1].unique_name(self._base).rsplit("/", 1)[-1] if in_graph else _unique(self._base)
        return self._given

    name = property(lambda self: self._name)

    def _function(self):
        from . import layers

        return getattr(layers, self._base)

    def _apply(self, inputs, reuse, **given):
        function = self._function()
        parameters = inspect.signature(function).parameters
        given = {**self._settings, **given, "name": self._name}
        if "reuse" in parameters:
            given["reuse"] = reuse
        return function(inputs, **given)

    def __call__(self, inputs, **given):
        if executing_eagerly():
            return self._call_with_values(convert_to_tensor(inputs), given)
        graph = get_default_graph()
        if not graph.building_function:
            before = len(graph._root.global_variables())
            result = self._apply(inputs, self._built_in is graph, **given)
            if self._built_in is not graph:
                self._of_graph, self._built_in = graph._root.global_variables()[before:], graph
            return result
        return self._in_function(graph, inputs, given)

    apply = __call__

    def _in_function(self, graph, inputs, given):
        for name, v in self._with_values.items():
            graph.adopt_as(v, name)
        reuse = bool(self._with_values) or self._built_in is graph
        if not reuse:
            graph.when_made.append(lambda made: self._with_values.update(
                {name: v for name, v in made.items() if name.startswith(self._name + "/")}))
            self._built_in = graph
        return self._apply(inputs, reuse, **given)

    def _call_with_values(self, inputs, given):
        sizes = [None] + inputs.shape.as_list()[1:] if inputs.shape.rank else []
        key = inputs.dtype.name, tuple(sizes), tuple(sorted(given.items()))
        call = self._calls.get(key)
        if call is None:
            graph = FuncGraph(self._name)
            with graph.as_default():
                result = self._in_function(graph, graph.input(inputs, TensorShape(sizes)), given)
            effects = graph.in_program_order()
            graph.new_variables()
            self._built_in = None
            call = self._calls[key] = graph.finish([result], effects)
        return call([inputs])[0]

    @property
    def variables(self):
        return list(self._with_values.values()) or list(self._of_graph)

    weights = variables

    @property
    def trainable_variables(self):
        return [v for v in self.variables if v.trainable]

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self):
        return [v for v in self.variables if not v.trainable]

    @property
    def built(self):
        return bool(self.variables) or self._built_in is not None

    def _variable(self, last):
        return next((v for v in self.variables if v.name.split(":")[0].endswith("/" + last)), None)

    kernel = property(lambda self: self._variable("kernel"))
    bias = property(lambda self: self._variable("bias"))


class Dense(Layer):
    _base = "dense"

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=None, kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None):
        super().__init__(name, units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                         bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer)
        self.units = units


class Conv2D(Layer):
    _base = "conv2d"

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1), activation=None,
                 use_bias=True, kernel_initializer=None, bias_initializer=None, kernel_regularizer=None, bias_regularizer=None, trainable=True,
                 name=None):
        super().__init__(name, filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                         dilation_rate=dilation_rate, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                         bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer)


class BatchNormalization(Layer):
    _base = "batch_normalization"

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, trainable=True, name=None):
        super().__init__(name, axis=axis, momentum=momentum, epsilon=epsilon, center=center, scale=scale)

    def __call__(self, inputs, training=False):
        return super().__call__(inputs, training=training)


class _WithoutVariables(Layer):
    def __call__(self, inputs, **given):
        return self._apply(convert_to_tensor(inputs), False, **given)


class MaxPooling2D(_WithoutVariables):
    _base = "max_pooling2d"

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None):
        super().__init__(name, pool_size=pool_size, strides=strides, padding=padding)


class AveragePooling2D(MaxPooling2D):
    _base = "average_pooling2d"


class Flatten(_WithoutVariables):
    _base = "flatten"


class Dropout(_WithoutVariables):
    _base = "dropout"

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None):
        super().__init__(name, rate=rate, seed=seed)

    def __call__(self, inputs, training=False):
        return super().__call__(inputs, training=training)
