"""`Graph`, the default graph, and the `with` statements that decide what new nodes get: names, devices, dependencies.

Each thread has a stack of scopes for each graph. A scope is a value of the engine (`_engine.Scope`); entering a `with` pushes one.
"""

import contextlib
import threading

from . import _engine


class GraphKeys:
    """Names of the collections that the library itself uses."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    METRIC_VARIABLES = "metric_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    UPDATE_OPS = "update_ops"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    QUEUE_RUNNERS = "queue_runners"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    GLOBAL_STEP = "global_step"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    SUMMARY_OP = "summary_op"
    SAVERS = "savers"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class Graph:
    """A dataflow graph. Nodes are made in the default graph: `with g.as_default():` makes this one it."""

    def __init__(self):
        self._root = _engine.Scope(self)
        self._threads = threading.local()
        self._collections = {}
        self._finalized = False
        self.seed = None

    # Scopes.

    @property
    def _scopes(self):
        try:
            return self._threads.scopes
        except AttributeError:
            self._threads.scopes = [self._root]
            return self._threads.scopes

    @property
    def _scope(self):
        """Where nodes are made now."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        return self._scopes[-1]

    @contextlib.contextmanager
    def _entered(self, scope):
        scopes = self._scopes
        scopes.append(scope)
        try:
            yield scope
        finally:
            scopes.pop()

    @contextlib.contextmanager
    def as_default(self):
        stack = _default.graphs
        stack.append(self)
        _tell_engine()
        try:
            yield self
        finally:
            stack.pop()
            _tell_engine()

    #: Whether it is the graph of a function that is being traced.
    building_function = False

    def capture(self, tensor):
        """A tensor of eager execution in this graph: a constant."""
        return self._root.constant(tensor)

    def adopt(self, variable):
        """A variable of eager execution in this graph."""
        adopted = self.__dict__.setdefault("_adopted", {})
        if variable._id not in adopted:
            name = variable._shared_name
            taken = any(v.name == name + ":0" for v in self._root.global_variables())
            adopted[variable._id] = variable, self._root.adopt(f"{name}_{variable._id}" if taken else name, variable._handle, variable.trainable)
        return adopted[variable._id][1]

    @contextlib.contextmanager
    def name_scope(self, name):
        with self._entered(self._scope.name_scope(name or "")) as scope:
            yield scope.name + "/" if scope.name else ""

    def device(self, device_name_or_function):
        if isinstance(device_name_or_function, _engine.ReplicaDevices):
            return self._entered(self._scope.device_function(device_name_or_function))
        if callable(device_name_or_function):
            choose = device_name_or_function
            return self._entered(self._scope.device_function(lambda op, device: _device_name(choose(_NewNode(op, device)))))
        return self._entered(self._scope.device(_device_name(device_name_or_function)))

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return self._entered(self._scope.without_control_dependencies().outside_control_flow())
        return self._entered(self._scope.control_dependencies([_operation(c) for c in control_inputs]))

    def colocate_with(self, op, ignore_existing=False):
        scope = self._scope.colocate_with(None) if ignore_existing or op is None else self._scope
        return self._entered(scope if op is None else scope.colocate_with(getattr(op, "op", op)))

    def unique_name(self, name, mark_as_used=True):
        return self._scope.unique_name(name)

    def get_name_scope(self):
        return self._scopes[-1].name

    # Nodes.

    def get_operations(self):
        return self._root.operations()

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self._root.operation(name)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        if ":" not in name:
            raise ValueError(f"The name '{name}' looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form"
                             " \"<op_name>:<output_index>\".")
        return self._root.output(name)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        if isinstance(obj, str):
            return self.get_tensor_by_name(obj) if ":" in obj else self.get_operation_by_name(obj)
        if isinstance(obj, _engine.Variable):
            obj = obj._graph_element
        if isinstance(obj, (_engine.Tensor, _engine.Operation)):
            if obj.graph is not self:
                raise ValueError(f"{obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a Tensor or Operation.")

    def as_graph_def(self, from_version=None, add_shapes=False):
        from ._session import GraphDef

        return GraphDef(self._root.graph_def(add_shapes), self._root.graph_text)

    @property
    def version(self):
        return self._root.version

    # Collections. Those of the engine's own (losses, summaries, variables) are the engine's.

    def add_to_collection(self, name, value):
        if not self._root.add_to_collection(name, value):
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in (names,) if isinstance(names, str) else names or ():
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        found = self._engine_collection(name) + list(self._collections.get(name, ()))
        if scope is None:
            return found
        import re

        matches = re.compile(scope).match
        return [item for item in found if hasattr(item, "name") and matches(item.name)]

    def _engine_collection(self, name):
        if name == GraphKeys.GLOBAL_VARIABLES:
            return self._root.global_variables()
        if name == GraphKeys.TRAINABLE_VARIABLES:
            return self._root.trainable_variables()
        if name == GraphKeys.LOCAL_VARIABLES:
            return self._root.local_variables()
        return self._root.collection(name)

    def get_all_collection_keys(self):
        return list(self._collections)

    def clear_collection(self, name):
        self._collections.pop(name, None)

    def finalize(self):
        self._finalized = True

    @property
    def finalized(self):
        return self._finalized

    def __reduce__(self):
        raise TypeError("a graph cannot be pickled; save its as_graph_def()")


class _NewNode:
    """A node about to be made, for device functions."""

    def __init__(self, op, device):
        self.type, self.device, self.name = op, device, ""


def _device_name(device):
    if device is None or isinstance(device, str):
        return device
    return device.to_string() if hasattr(device, "to_string") else str(device)


def _operation(obj):
    if isinstance(obj, (_engine.Tensor, _engine.Operation)):
        return obj
    return getattr(obj, "op", obj)


class _Default(threading.local):
    def __init__(self):
        self.graphs = []


_default = _Default()
_global = Graph()
#: With eager execution: what stands where the default graph is.
_eager = None


def use_eager(context):
    """Ops run at once where no graph is the default one; with None, they are nodes of the default graph again."""
    global _eager
    if context is not None and _default.graphs:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    _eager = context


def _tell_engine():
    """Whether this thread builds a graph, for operators of tensors with values."""
    graphs = _default.graphs
    _engine.set_in_graph(bool(graphs) and graphs[-1] is not _eager)


def get_default_graph():
    graphs = _default.graphs
    return graphs[-1] if graphs else _eager or _global


def reset_default_graph():
    """Begins a new default graph."""
    global _global
    if _default.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting and"
                             " create a new graph.")
    _global = Graph()


def current_scope():
    """Where nodes are made now."""
    return get_default_graph()._scope


def _graph_without_root():
    """A graph whose root scope the engine gives: an estimator makes graphs of its own."""
    graph = Graph.__new__(Graph)
    graph._threads, graph._collections, graph._finalized, graph.seed = threading.local(), {}, False, None
    return graph


def _call_in(scope, function, args, kwargs=None):
    """Calls a function with a scope on top: the engine does, for the parts of loops and branches."""
    graph = get_default_graph()
    first = scope.version
    with graph._entered(scope):
        try:
            return function(*args, **kwargs or {})
        finally:
            if graph.building_function:
                graph.left_control_flow(first)


@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """Nodes made inside are named `name/..`; without a name, `default_name/..`."""
    if name is None:
        name = default_name
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name for name_scope must be a string, got {name!r}")
    with get_default_graph().name_scope(name) as full:
        yield full


def device(device_name_or_function):
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs):
    """Nodes made inside run after these."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op, ignore_existing=False):
    return get_default_graph().colocate_with(op, ignore_existing)


def init_scope():
    """Outside of loops, branches and dependencies; and outside of a function that is traced."""
    graph = get_default_graph()
    if graph.building_function:
        return _eager.as_default() if _eager is not None else contextlib.nullcontext()
    return graph._entered(graph._scope.outside_control_flow())


def set_random_seed(seed):
    """All random ops made from now on depend on this seed."""
    graph = get_default_graph()
    graph.seed = seed
    graph._root.set_random_seed(seed)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """The value as a tensor: a tensor as it is, anything else as a constant."""
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    scope = current_scope()
    if dtype is None and hint is not None and not isinstance(value, _engine.Tensor):
        try:
            return scope.convert(value, hint, name)
        except (TypeError, ValueError):
            pass
    return scope.convert(value, dtype, name)
