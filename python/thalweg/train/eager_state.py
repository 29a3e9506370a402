"""Optimizers of variables with values: the update is a graph, made once for a list of variables; the optimizer keeps its slots."""

from .. import _engine
from .._control_flow import _flat
from .._function import FuncGraph
from .._shapes import TensorShape
from .._slices import IndexedSlices


class EagerState:
    """What an optimizer keeps between updates."""

    def __init__(self, optimizer):
        self._optimizer = optimizer
        self.variables = []
        self._names = {}
        self._calls = {}

    def compute_gradients(self, loss, var_list, grad_loss):
        from .._tape import GradientTape

        if not callable(loss):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(_flat(var_list))
            value = loss()
        variables = list(tape.watched_variables()) if var_list is None else _flat(var_list)
        return list(zip(tape.gradient(value, variables, grad_loss), variables))

    def enter(self, graph):
        """Slots of before are the graph's; new ones are kept when it is done."""
        for v in self.variables:
            name = self._names[v._id]
            graph.adopt_as(v, name)
            graph._root.offer(name)
        graph.when_made.append(self._keep)

    def _keep(self, made):
        prefix = self._optimizer._kind
        known = {v._id for v in self.variables}
        for name, v in made.items():
            # Slots are named after their variable and the optimizer; powers of betas have names of their own.
            is_slot = name.rsplit("/", 1)[-1].rstrip("_0123456789") in (prefix, "beta1_power", "beta2_power", "Momentum")
            if is_slot and v._id not in known:
                self.variables.append(v)
                self._names[v._id] = name

    def apply_gradients(self, pairs, global_step):
        pairs = [(g, v) for g, v in pairs if g is not None]
        step = () if global_step is None else (global_step._id,)
        rates = {k: s for k, s in self._optimizer._settings.items() if callable(s) and not isinstance(s, (_engine.Variable, _engine.Tensor))}
        key = tuple((v._id, isinstance(g, IndexedSlices)) for g, v in pairs), step
        values = [_engine.eager_convert(float(rate()), "float32") for rate in rates.values()]
        for g, _ in pairs:
            values += [g.values, g.indices, g.dense_shape] if isinstance(g, IndexedSlices) else [g]
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = self._trace(pairs, global_step, rates)
        call(values)

    def _trace(self, pairs, global_step, rates):
        optimizer = self._optimizer
        graph = FuncGraph(optimizer.get_name())
        with graph.as_default():
            given = {k: graph.input(_engine.eager_constant(0.0, "float32")) for k in rates}
            inside = []
            for g, v in pairs:
                if isinstance(g, IndexedSlices):
                    rows = TensorShape([None] + g.values.shape.as_list()[1:])
                    parts = graph.input(g.values, rows), graph.input(g.indices, TensorShape([None])), graph.input(g.dense_shape)
                    inside.append((IndexedSlices(*parts), v))
                else:
                    inside.append((graph.input(g), v))
            self.enter(graph)
            engine = _engine.Optimizer(optimizer._kind, {**optimizer._settings, **given})
            done = engine.apply_gradients(graph._scope, inside, global_step)
        graph.new_variables()
        return graph.finish([], [done])
