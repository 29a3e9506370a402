"""Eager execution: ops run at once. Where the other modules ask for the current scope, they get one whose `op` runs the op."""

import random
import threading

from . import _engine
from . import _graphs
from ._engine import EagerTensor, EagerVariable
from ._graphs import Graph

EagerTensor.__module__ = "thalweg"


class _Seeds:
    """The seed of all random ops, and the sequence of their own."""

    graph, numbers = None, None


class EagerScope:
    """Where ops run: has what an engine's scope has, as far as it means something without a graph."""

    def __init__(self, name="", variables="", reuse=False):
        self.name, self._variables, self._reuse = name, variables, reuse

    def op(self, op, inputs, attrs=None, name=None):
        return _engine.eager_op(op, inputs, attrs)

    def constant(self, value, dtype=None, shape=None, name=None):
        return _engine.eager_constant(value, dtype, shape)

    def convert(self, value, dtype=None, name=None):
        return _engine.eager_convert(value, dtype)

    def while_loop(self, cond, body, initial, parallel_iterations=10):
        values = list(initial)
        while cond(*values)[0]:
            values = list(body(*values))
        return values

    def cond(self, pred, then, otherwise):
        return then() if pred else otherwise()

    def group(self, operations, name=None):
        return None

    def seeds(self, own=None):
        if _Seeds.graph is None:
            return (0, 0) if own is None else _not_zero(87654321, own)
        return _not_zero(_Seeds.graph, _Seeds.numbers.randint(0, 2 ** 31 - 1) if own is None else own)

    def set_random_seed(self, seed):
        _Seeds.graph, _Seeds.numbers = seed, random.Random(seed)
        _engine.clear_kernels()

    # Scopes.

    def name_scope(self, name):
        if not name or name.endswith("/"):
            return EagerScope(name.rstrip("/"), self._variables, self._reuse)
        return EagerScope(f"{self.name}/{name}" if self.name else name, self._variables, self._reuse)

    def variable_scope(self, name, default_name=None, reuse=None):
        if name is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        inner = f"{self._variables}/{name or default_name}" if self._variables else name or default_name
        return EagerScope(self.name_scope(name or default_name).name, inner, self._reuse if reuse is None else reuse)

    def variable_scope_again(self, full, reuse=None, name_scope=True):
        return EagerScope(self.name, full, reuse)

    def variable_scope_name(self):
        return self._variables, {True: True, False: False}.get(self._reuse)

    def unique_name(self, name):
        return f"{self.name}/{name}" if self.name else name

    def _same(self, *args):
        return self

    device = device_function = control_dependencies = colocate_with = _same
    without_control_dependencies = outside_control_flow = _same

    # Variables.

    def variable(self, initial, name, trainable=True, local=False):
        return _engine.eager_variable(name.rstrip("/"), initial, trainable)

    def get_variable(self, name, shape=None, dtype=None, initializer=None, trainable=True):
        """A new variable: without a graph, nothing remembers those of the same name."""
        from .initializers import GlorotUniform, Zeros

        dtype = _engine.as_dtype(dtype if dtype is not None else "float32")
        if initializer is None:
            initializer = (GlorotUniform if dtype.is_floating else Zeros)(dtype=dtype)
        if isinstance(initializer, type):
            initializer = initializer()
        value = initializer(_graphs_shape(shape), dtype=dtype) if callable(initializer) else initializer
        full = f"{self._variables}/{name}" if self._variables else name
        return _engine.eager_variable(full, self.convert(value, dtype), trainable)

    def global_variables(self):
        return []

    trainable_variables = global_variables

    def collection(self, name):
        return []

    def add_to_collection(self, name, value):
        return True

    def operations(self):
        return []


def _graphs_shape(shape):
    from ._shapes import TensorShape

    if shape is None:
        raise ValueError("Shape of a new variable must be fully defined, but no shape and no initial value is given.")
    return TensorShape(shape)


def _not_zero(graph, own):
    return (graph, own) if (graph, own) != (0, 0) else (0, 2 ** 31 - 1)


class EagerContext(Graph):
    """Stands where the default graph is: its scopes run ops at once."""

    def __init__(self):
        self._root = EagerScope()
        self._threads = threading.local()
        self._collections = {}
        self._finalized = False
        self.seed = None

    building_function = False

    def get_operation_by_name(self, name):
        raise KeyError(f"The name '{name}' refers to an Operation not in the graph: ops of eager execution are in no graph.")

    get_tensor_by_name = get_operation_by_name

    def as_graph_def(self, from_version=None, add_shapes=False):
        raise RuntimeError("ops of eager execution are in no graph; tf.function makes one")


context = EagerContext()


def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    """Ops run at once from now on, but for those of graphs that are made the default one."""
    _graphs.use_eager(context)


def disable_eager_execution():
    """Graphs are deferred again."""
    _graphs.use_eager(None)


def executing_eagerly():
    """Whether an op called here runs at once."""
    return _graphs.get_default_graph() is context


def _either(function):
    """A function of a scope and tensors that makes nodes; in eager execution, their values. What it makes is kept for equal arguments."""
    made = {}

    def run(scope, *args, **kwargs):
        if isinstance(scope, _engine.Scope):
            return function(scope, *args, **kwargs)
        args, leaves = list(args), []
        for i, arg in enumerate(args):
            args[i] = _opened(arg, leaves)
        key = repr(args), repr(kwargs), tuple((t.dtype.name, tuple(t.shape.as_list())) for t in leaves)
        if key not in made:
            made[key] = _traced(function, args, kwargs, leaves)
        return made[key](leaves)

    return run


class _Leaf:
    """The place of a tensor among arguments."""

    def __init__(self, at):
        self.at = at

    def __repr__(self):
        return f"tensor {self.at}"


def _opened(arg, leaves):
    """The argument with places for its tensors."""
    import numpy as np

    if isinstance(arg, (EagerTensor, EagerVariable, np.ndarray)):
        leaves.append(arg if isinstance(arg, EagerTensor) else _engine.eager_convert(arg))
        return _Leaf(len(leaves) - 1)
    if hasattr(arg, "dense_shape") and hasattr(arg, "indices"):
        return type(arg)(*(_opened(part, leaves) for part in (arg.values, arg.indices, arg.dense_shape)))
    if isinstance(arg, (list, tuple)):
        return type(arg)(_opened(a, leaves) for a in arg)
    return arg


def _closed(arg, inputs):
    if isinstance(arg, _Leaf):
        return inputs[arg.at]
    if hasattr(arg, "dense_shape") and hasattr(arg, "indices"):
        return type(arg)(*(_closed(part, inputs) for part in (arg.values, arg.indices, arg.dense_shape)))
    if isinstance(arg, (list, tuple)):
        return type(arg)(_closed(a, inputs) for a in arg)
    return arg


def _traced(function, args, kwargs, leaves):
    from ._control_flow import _flat, _packed
    from ._function import FuncGraph

    graph = FuncGraph("call")
    with graph.as_default():
        inputs = [graph.input(t) for t in leaves]
        result = function(graph._scope, *(_closed(a, inputs) for a in args), **kwargs)
    found = [x for x in _flat(result) if x is not None]
    run = graph.finish(found)

    def call(values):
        results = iter(run(values))
        leaves = [None if x is None else next(results) for x in _flat(result)]
        return _packed(result, iter(leaves)) if isinstance(result, (list, tuple)) else leaves[0]

    return call


def _make_both(module, names):
    for name in names:
        setattr(module, name, _either(getattr(module, name)))


# Functions of the engine that make several nodes.
_make_both(_engine, ("clip_by_norm", "clip_by_average_norm", "clip_by_global_norm", "global_norm"))
_make_both(_engine.losses, ("loss", "sigmoid_cross_entropy_with_logits", "decay", "piecewise_constant"))
_make_both(_engine.layers, ("pooling2d", "dropout", "flatten"))


def _in_graph(obj):
    """A tensor or variable with a value, in the default graph."""
    graph = _graphs.get_default_graph()
    if isinstance(obj, EagerVariable):
        return graph.adopt(obj)
    return graph.capture(obj)


def _unpickled(value, dtype):
    return _engine.eager_constant(value, dtype)


def _repr(x):
    value = "<unprintable>" if x.dtype in ("resource", "variant") else repr(x.numpy()) if x.dtype == "string" else _array_text(x)
    return f"<tf.Tensor: shape={_tuple(x.shape)}, dtype={x.dtype.name}, numpy={value}>"


def _tuple(shape):
    return tuple(shape.as_list())


def _array_text(x):
    import numpy as np

    array = np.asarray(x)
    return repr(array.item()) if array.ndim == 0 and array.dtype.kind != "f" else str(array) if array.ndim == 0 else repr(array)


def _str(x):
    value = "<unprintable>" if x.dtype in ("resource", "variant") else str(x.numpy())
    return f"tf.Tensor({value}, shape={_tuple(x.shape)}, dtype={x.dtype.name})"


def _html(x):
    """For notebooks: what it is, and a table of the first elements of a matrix."""
    import html

    head = f"<b>tf.Tensor</b> shape={html.escape(str(_tuple(x.shape)))} dtype={x.dtype.name}"
    if x.dtype in ("resource", "variant"):
        return head
    value = x.numpy()
    if getattr(value, "ndim", 0) != 2 or value.shape[1] > 20 or value.shape[1] == 0:
        return f"{head}<pre>{html.escape(str(value))}</pre>"
    cell = lambda v: f"<td>{html.escape(f'{v:.6g}' if isinstance(v, float) else str(v))}</td>"
    rows = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in value[:10].tolist())
    more = f"<tr><td colspan={value.shape[1]}>… {len(value) - 10} more rows</td></tr>" if len(value) > 10 else ""
    return f"{head}<table>{rows}{more}</table>"


EagerTensor.__repr__, EagerTensor.__str__, EagerTensor._repr_html_ = _repr, _str, _html
EagerTensor.graph = property(lambda self: _no_graph("graph"))
EagerTensor.op = property(lambda self: _no_graph("op"))
EagerTensor.name = property(lambda self: _no_graph("name"))
EagerTensor.eval = lambda self, feed_dict=None, session=None: self.numpy()
EagerTensor.set_shape = lambda self, shape: self.shape.assert_is_compatible_with(shape)
EagerTensor.cpu = EagerTensor.gpu = lambda self: self
EagerTensor.tolist = lambda self: self.numpy().tolist()
EagerTensor.item = lambda self: self.numpy().item()
EagerTensor.ndim = property(lambda self: len(self._dims))


def _dlpack(self, **kwargs):
    """The memory of the tensor for other libraries, which may read it."""
    return _engine.to_dlpack(self, **kwargs)


EagerTensor.__dlpack__ = _dlpack
EagerTensor.__dlpack_device__ = lambda self: _engine.dlpack_device()


def from_dlpack(other):
    """A tensor with the values of what another library exports."""
    return _engine.eager_constant(_engine.from_dlpack(other))


def to_dlpack(tensor):
    return tensor.__dlpack__()


def _no_graph(what):
    raise AttributeError(f"Tensor.{what} is undefined when eager execution is enabled.")


def _variable_repr(v):
    return f"<tf.Variable '{v.name}' shape={v.shape} dtype={v.dtype.name}, numpy={_array_text(v._read())}>"


EagerVariable.__repr__ = EagerVariable.__str__ = _variable_repr
EagerVariable.numpy = lambda self: self._read().numpy()
EagerVariable.__array__ = lambda self, *args, **kwargs: self._read().__array__(*args, **kwargs)
EagerVariable.__bool__ = lambda self: bool(self._read())
EagerVariable.__int__ = lambda self: int(self._read())
EagerVariable.__float__ = lambda self: float(self._read())
EagerVariable.__index__ = lambda self: self._read().__index__()
EagerVariable.graph = property(lambda self: _graphs.get_default_graph())
EagerVariable.device = property(lambda self: self._handle.device)
EagerVariable.initializer = property(lambda self: _in_graph(self).initializer if not executing_eagerly() else None)
EagerVariable.op = property(lambda self: _in_graph(self).op)
EagerVariable._graph_element = property(lambda self: _in_graph(self)._graph_element)
EagerVariable.ref = EagerVariable.experimental_ref = lambda self: _VariableReference(self)
EagerVariable.__reduce__ = lambda self: (_again, (self._shared_name, self.numpy(), self.dtype.name, self.trainable))


def _again(name, value, dtype, trainable):
    return _engine.eager_variable(name, _engine.eager_constant(value, dtype), trainable)


class _VariableReference:
    """A variable as a key of dicts."""

    def __init__(self, variable):
        self._variable = variable

    def deref(self):
        return self._variable

    def __hash__(self):
        return self._variable._id

    def __eq__(self, other):
        return isinstance(other, _VariableReference) and self._variable is other._variable
