"""`tf.function`: calls of Python traced into graphs, by the shapes and types of tensors and the values of everything else."""

import functools
import inspect
import threading

from . import _engine
from . import _graphs
from ._control_flow import _flat, _packed
from ._eager import context, executing_eagerly
from ._engine import EagerTensor, EagerVariable, Operation, Tensor, Variable
from ._graphs import Graph


class FuncGraph(Graph):
    """A graph that is a function: of its inputs, of tensors with values that it captured, and of variables."""

    building_function = True

    def __init__(self, name, outer=None):
        super().__init__()
        self.name, self.outer = name, outer
        self._root.set_container(f"{name}#{_engine.fresh_id()}")
        self.inputs, self._captured, self._adopted = [], {}, {}
        self._control_flow = []
        #: Called with new variables, by name.
        self.when_made = []

    def input(self, like, shape=None):
        """A new input for tensors like this one."""
        shape = like.shape if shape is None else shape
        made = self._root.op("Placeholder", [], {"dtype": like.dtype, "shape": shape}, "args")
        self.inputs.append(made)
        return made

    def capture(self, tensor):
        """A tensor from outside as an input."""
        key = id(tensor)
        if key not in self._captured:
            if tensor.dtype == "resource":
                raise TypeError("a handle of a variable cannot be captured: use the variable")
            made = self._root.op("Placeholder", [], {"dtype": tensor.dtype, "shape": tensor.shape}, "captured")
            self._captured[key] = (tensor, made)
        return self._captured[key][1]

    def adopt(self, variable):
        """A variable of eager execution as one of this graph."""
        found = self._adopted.get(variable._id)
        if found is None:
            # Names of variables with values are not unique.
            found = self.adopt_as(variable, f"{variable._shared_name}_{variable._id}")
        return found[1]

    def adopt_as(self, variable, name):
        """A variable of eager execution as one of this graph, under this name."""
        if variable._id not in self._adopted:
            self._adopted[variable._id] = (variable, self._root.adopt(name, variable._handle, variable.trainable))
        return self._adopted[variable._id]

    def left_control_flow(self, first):
        self._control_flow.append((first, self._root.version))

    def in_program_order(self):
        """Makes ops with effects run in the order of the program; returns those that nothing else may run."""
        effects, writers, readers, last = [], {}, {}, None
        initializers = {v.initializer for v in self._root.global_variables()}
        for number, op in enumerate(self.get_operations()):
            if op.type in _SILENT or op in initializers or any(first <= number < end for first, end in self._control_flow):
                continue
            handles = [t for t in op.inputs if t.dtype == "resource"]
            if not handles and not _engine.op_definition(op.type)["stateful"]:
                continue
            reads = op.type in _READS
            for handle in handles:
                for before in ([writers.get(handle)] if reads else [writers.get(handle), *readers.get(handle, ())]):
                    if before is not None and before != op:
                        op._add_control_input(before)
                if reads:
                    readers.setdefault(handle, []).append(op)
                else:
                    writers[handle], readers[handle] = op, []
            if not handles:
                if last is not None:
                    op._add_control_input(last)
                last = op
            if not reads and not op.type.startswith(("Random", "Truncated", "Stateless")):
                effects.append(op)
        return effects

    def finish(self, results, effects=()):
        """The graph as a function of values for its inputs."""
        self.finalize()
        captured = list(self._captured.values())
        variables = list(self._adopted.values())
        feeds = self.inputs + [inside for _, inside in captured]
        run = _engine.GraphFunction(self._root, feeds, results, list(effects), [inside for _, inside in variables])
        outside, held = [t for t, _ in captured], [v for v, _ in variables]
        made = lambda values: run(values + outside, held)
        made.run = run
        return made

    def new_variables(self):
        """The variables that the graph itself made, initialised and with values from now on."""
        known = {inside.name for _, inside in self._adopted.values()}
        made = [v for v in self._root.global_variables() if v.name not in known]
        if not made:
            return []
        run = _engine.GraphFunction(self._root, [], [], [], [])
        for v in made:
            run.run_operations([v.initializer])
        handles = run.fetch([v.handle for v in made])
        found = [_engine.adopted_variable(v, h) for v, h in zip(made, handles)]
        for v, inside in zip(found, made):
            self._adopted[v._id] = (v, inside)
        by_name = {v._shared_name: v for v in found}
        for tell in self.when_made:
            tell(by_name)
        return found


_SILENT = frozenset(("VarHandleOp", "Const", "Placeholder", "VarIsInitializedOp", "NoOp"))
_READS = frozenset(("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"))


class TensorSpec:
    """The shape and type of an argument."""

    def __init__(self, shape, dtype="float32", name=None):
        from ._shapes import TensorShape

        self.shape, self.dtype, self.name = TensorShape(shape), _engine.as_dtype(dtype), name

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self.shape.as_list(), self.dtype) == (other.shape.as_list(), other.dtype)

    def __hash__(self):
        return hash((tuple(self.shape.as_list()), self.dtype))


def _is_value(x):
    import numpy as np

    return isinstance(x, (EagerTensor, np.ndarray, np.generic))


class ConcreteFunction:
    """One trace."""

    def __init__(self, graph, structure, kinds, run):
        self.graph, self._structure, self._kinds, self._run = graph, structure, kinds, run

    def call(self, tensors):
        found = iter(self._run(tensors))
        leaves = [next(found) if kind is None else kind[0] for kind in self._kinds]
        return _packed(self._structure, iter(leaves)) if isinstance(self._structure, (list, tuple, dict)) else leaves[0]

    def __call__(self, *args):
        return self.call([_engine.eager_convert(a) for a in _flat(list(args)) if _is_value(a) or isinstance(a, (int, float, bool, list))])


class Function:
    """A function of Python that runs as a graph; each new combination of shapes, types and Python values is traced once."""

    def __init__(self, python_function, input_signature=None, name=None, bound=None, traces=None):
        functools.update_wrapper(self, python_function)
        self.python_function, self._bound = python_function, bound
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._name = name or getattr(python_function, "__name__", "function")
        self._traces = {} if traces is None else traces
        self._lock = threading.RLock()
        self._made_variables = False
        #: The signature of the function of Python, and how many arguments it takes if all are positional.
        self._parameters, self._positional = None, None

    def __get__(self, instance, owner):
        """A method: traces are each instance's own."""
        if instance is None:
            return self
        methods = instance.__dict__.setdefault("_thalweg_functions", {})
        key = self._name
        if key not in methods:
            methods[key] = Function(self.python_function.__get__(instance, owner), self.input_signature, self._name)
        return methods[key]

    def __call__(self, *args, **kwargs):
        if not executing_eagerly():
            # In another graph, or in another function: a part of it.
            return self.python_function(*args, **kwargs)
        return self._concrete(args, kwargs, run=True)

    def get_concrete_function(self, *args, **kwargs):
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        return self._concrete(args, kwargs, run=False)

    def _bound_arguments(self, args, kwargs):
        if self._parameters is None:
            try:
                self._parameters = inspect.signature(self.python_function)
            except ValueError:
                self._parameters = ()
            kinds = [p.kind for p in self._parameters.parameters.values()] if self._parameters else []
            simple = all(k == inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds)
            self._positional = len(kinds) if simple else None
        if not self._parameters or (not kwargs and len(args) == self._positional):
            return list(args), dict(kwargs)
        bound = self._parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        return list(bound.args), dict(bound.kwargs)

    def _concrete(self, args, kwargs, run):
        args, kwargs = self._bound_arguments(args, kwargs)
        if self.input_signature is not None:
            if len(args) != len(self.input_signature):
                raise TypeError(f"{self._name}() takes {len(self.input_signature)} arguments by its input_signature, got {len(args)}")
            args = [self._of_signature(a, spec) for a, spec in zip(args, self.input_signature)]
        leaves = _flat([args, kwargs])
        leaves = [_engine.eager_convert(a) if _is_value(a) and not isinstance(a, EagerTensor) else a for a in leaves]
        tensors = [a for a in leaves if isinstance(a, EagerTensor)]
        key = tuple(self._key(a, i) for i, a in enumerate(leaves))
        with self._lock:
            found = self._traces.get(key)
            if found is None:
                found = self._traces[key] = self._trace(args, kwargs, leaves)
        return found.call(tensors) if run else found

    def _of_signature(self, value, spec):
        if isinstance(value, TensorSpec):
            return value
        value = _engine.eager_convert(value, spec.dtype)
        if not spec.shape.is_compatible_with(value.shape):
            raise TypeError(f"{self._name}(): a tensor of shape {value.shape} does not fit {spec}")
        return value

    def _key(self, a, i):
        if isinstance(a, (EagerTensor, TensorSpec)):
            if self.input_signature is not None and i < len(self.input_signature):
                return "T", i
            return "T", a.dtype.name, a.shape.rank if isinstance(a, TensorSpec) and a.shape.rank is None else tuple(a.shape.as_list())
        if isinstance(a, EagerVariable):
            return "V", a._id
        try:
            hash(a)
        except TypeError:
            return "id", id(a)
        return type(a), a

    def _trace(self, args, kwargs, leaves):
        graph = FuncGraph(self._name)
        signature = iter(self.input_signature or ())

        def argument(a):
            if not isinstance(a, (EagerTensor, TensorSpec)):
                return a
            spec = next(signature, None)
            return graph.input(a, spec.shape if spec is not None else a.shape)

        inside = _packed([args, kwargs], iter([argument(a) for a in leaves]))
        with graph.as_default():
            made = self.python_function(*inside[0], **inside[1])
            kinds, results = [], []
            for leaf in _flat(made):
                if leaf is None or isinstance(leaf, Operation):
                    kinds.append((None,))
                    continue
                kinds.append(None)
                tensor = _graphs.convert_to_tensor(leaf)
                # A result that is an input, or twice the same, is a value of its own; it is read before later effects.
                results.append(graph._scope.op("Identity", [tensor]))
        effects = graph.in_program_order()
        if graph.new_variables():
            if self._made_variables:
                raise ValueError(f"tf.function-decorated function {self._name} tried to create variables on non-first call.")
            self._made_variables = True
        return ConcreteFunction(graph, made, kinds, graph.finish(results, effects))

    @property
    def pretty_printed_concrete_signatures(self):
        return [str(key) for key in self._traces]

    def experimental_get_tracing_count(self):
        return len(self._traces)


def function(func=None, input_signature=None, autograph=None, experimental_implements=None, reduce_retracing=False, jit_compile=None,
             experimental_relax_shapes=None, experimental_compile=None, experimental_autograph_options=None, experimental_follow_type_hints=None):
    """Makes a function of Python run as a graph. Python itself runs only while a call is traced: loops and branches that depend on the values of
    tensors are `tf.while_loop` and `tf.cond`."""
    if func is None:
        return lambda f: Function(f, input_signature)
    return Function(func, input_signature)
