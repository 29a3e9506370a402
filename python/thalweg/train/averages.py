"""Moving averages of variables: the engine's."""

from .. import _engine
from .._graphs import GraphKeys, current_scope, get_default_graph, add_to_collection


class ExponentialMovingAverage:
    """Keeps a shadow of each variable: `shadow -= (1 - decay) * (shadow - variable)`."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        if zero_debias:
            raise NotImplementedError("ExponentialMovingAverage with zero_debias")
        self._decay, self._num_updates, self._name, self._averages = decay, num_updates, name, None

    name = property(lambda self: self._name)

    def _engine_averages(self):
        if self._averages is None:
            self._averages = _engine.MovingAverage(get_default_graph()._scopes[-1], self._decay, self._num_updates)
        return self._averages

    def apply(self, var_list=None):
        """One operation that updates the averages."""
        var_list = get_default_graph()._root.trainable_variables() if var_list is None else list(var_list)
        if not all(isinstance(v, _engine.Variable) for v in var_list):
            raise NotImplementedError("ExponentialMovingAverage of tensors: give it variables")
        for v in var_list:
            add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
        return self._engine_averages().apply(current_scope(), var_list)

    def average(self, var):
        return self._engine_averages().average(var)

    def average_name(self, var):
        return self._engine_averages().average_name(var)

    def variables_to_restore(self, moving_avg_variables=None):
        return dict(self._engine_averages().variables_to_restore(get_default_graph()._scopes[-1]))
