"""Optimizers: TensorFlow's arguments of the engine's update rules. A new one is a class with its arguments, and its row in
`crates/py/src/optimizers.rs`."""

from .. import _engine
from .._control_flow import _flat
from .._eager import executing_eagerly
from .._graphs import convert_to_tensor, current_scope, get_default_graph
from .eager_state import EagerState


class Optimizer:
    """Computes gradients of a loss, and applies them."""

    GATE_NONE, GATE_OP, GATE_GRAPH = range(3)
    _kind = None

    def __init__(self, settings, use_locking=False, name=None):
        self._settings, self._use_locking, self._name = settings, use_locking, name or self._kind
        self._with_values = EagerState(self)
        self._made = None

    @property
    def _engine(self):
        """The engine's, with the settings as they are in this graph."""
        graph = get_default_graph()
        if self._made is None or self._made[0] is not graph:
            self._made = graph, _engine.Optimizer(self._kind, self._settings)
        return self._made[1]

    def get_name(self):
        return self._name

    def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None, colocate_gradients_with_ops=False,
                          grad_loss=None):
        """Pairs of gradients and variables."""
        if executing_eagerly():
            return self._with_values.compute_gradients(loss, var_list, grad_loss)
        if callable(loss):
            loss = loss()
        if var_list is not None:
            var_list = _flat(var_list)
        pairs = self._engine.compute_gradients(current_scope(), loss, var_list)
        if not pairs:
            raise ValueError("No variables to optimize.")
        return pairs

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """One operation that applies the gradients to their variables, and counts the global step."""
        pairs = [(None if g is None else g if hasattr(g, "dense_shape") else convert_to_tensor(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        if all(g is None for g, _ in pairs):
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        if executing_eagerly():
            return self._with_values.apply_gradients(pairs, global_step)
        if get_default_graph().building_function:
            self._with_values.enter(get_default_graph())
        return self._engine.apply_gradients(current_scope(), pairs, global_step)

    def variables(self):
        """The variables of its own: of eager execution."""
        return list(self._with_values.variables)

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None):
        """One training step."""
        pairs = self.compute_gradients(loss, var_list)
        if all(g is None for g, _ in pairs):
            raise ValueError(f"No gradients provided for any variable, check your graph for ops that do not support gradients, between"
                             f" variables {[str(v) for _, v in pairs]} and loss {loss}.")
        return self.apply_gradients(pairs, global_step, name)


class GradientDescentOptimizer(Optimizer):
    _kind = "GradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__({"learning_rate": learning_rate}, use_locking, name)


class MomentumOptimizer(Optimizer):
    _kind = "Momentum"

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__({"learning_rate": learning_rate, "momentum": momentum, "use_nesterov": use_nesterov}, use_locking, name)


class AdagradOptimizer(Optimizer):
    _kind = "Adagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        super().__init__({"learning_rate": learning_rate, "initial_accumulator_value": initial_accumulator_value}, use_locking, name)


class AdagradDAOptimizer(Optimizer):
    _kind = "AdagradDA"

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="AdagradDA"):
        super().__init__({"learning_rate": learning_rate, "global_step": global_step,
                          "initial_gradient_squared_accumulator_value": initial_gradient_squared_accumulator_value,
                          "l1_regularization_strength": l1_regularization_strength,
                          "l2_regularization_strength": l2_regularization_strength}, use_locking, name)


class AdadeltaOptimizer(Optimizer):
    _kind = "Adadelta"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__({"learning_rate": learning_rate, "rho": rho, "epsilon": epsilon}, use_locking, name)


class AdamOptimizer(Optimizer):
    _kind = "Adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__({"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}, use_locking, name)


class RMSPropOptimizer(Optimizer):
    _kind = "RMSProp"

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name="RMSProp"):
        super().__init__({"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon, "centered": centered},
                         use_locking, name)


class FtrlOptimizer(Optimizer):
    _kind = "Ftrl"

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="Ftrl", accum_name=None, linear_name=None,
                 l2_shrinkage_regularization_strength=0.0, beta=None):
        super().__init__({"learning_rate": learning_rate, "learning_rate_power": learning_rate_power,
                          "initial_accumulator_value": initial_accumulator_value, "l1_regularization_strength": l1_regularization_strength,
                          "l2_regularization_strength": l2_regularization_strength,
                          "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength, "beta": beta}, use_locking, name)


class ProximalAdagradOptimizer(Optimizer):
    _kind = "ProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0, l2_regularization_strength=0.0,
                 use_locking=False, name="ProximalAdagrad"):
        super().__init__({"learning_rate": learning_rate, "initial_accumulator_value": initial_accumulator_value,
                          "l1_regularization_strength": l1_regularization_strength,
                          "l2_regularization_strength": l2_regularization_strength}, use_locking, name)


class ProximalGradientDescentOptimizer(Optimizer):
    _kind = "ProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        super().__init__({"learning_rate": learning_rate, "l1_regularization_strength": l1_regularization_strength,
                          "l2_regularization_strength": l2_regularization_strength}, use_locking, name)
