"""Variables and variable scopes. The engine keeps them; here are TensorFlow's arguments and methods."""

import contextlib

from . import _engine
from ._graphs import GraphKeys, convert_to_tensor, current_scope, get_default_graph, init_scope, name_scope
from ._op_functions import call
from ._shapes import TensorShape

Variable = _engine.Variable


class _AutoReuse:
    def __repr__(self):
        return "AUTO_REUSE"


#: Variables are created if they do not exist, and shared if they do.
AUTO_REUSE = _AutoReuse()


def _make(initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None, variable_def=None,
          dtype=None, expected_shape=None, import_scope=None, constraint=None, use_resource=None, synchronization=None, aggregation=None,
          shape=None):
    """A new variable: what `tf.Variable(..)` calls."""
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if isinstance(initial_value, _engine.EagerTensor) and dtype is not None and initial_value.dtype != dtype:
        raise ValueError(f"Tensor conversion requested dtype {_engine.as_dtype(dtype).name} for Tensor with dtype {initial_value.dtype.name}")
    trainable = trainable is not False
    local = collections is not None and GraphKeys.LOCAL_VARIABLES in collections
    with init_scope():
        with name_scope(name, "Variable") as full:
            with name_scope("Initializer"):
                initial = initial_value() if callable(initial_value) else initial_value
                initial = convert_to_tensor(initial, dtype=dtype, name="initial_value")
            made = current_scope().variable(initial, full, trainable, local)
    graph = get_default_graph()
    standard = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    for key in collections or ():
        if key not in standard:
            graph._collections.setdefault(key, []).append(made)
    return made


# Methods.

def _assign_with(op):
    def assign(self, value, use_locking=None, name=None, read_value=True):
        if isinstance(self, _engine.EagerVariable):
            if not isinstance(current_scope(), _engine.Scope):
                value = convert_to_tensor(value, dtype=self.dtype)
                if not self.shape.is_compatible_with(value.shape):
                    raise ValueError(f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape {self.shape}, and the"
                                     f" assigned value shape {value.shape} are incompatible.")
                call(op, [self.handle, value], {"dtype": self.dtype})
                return self if read_value else None
            self = get_default_graph().adopt(self)
        done = call(op, [self.handle, convert_to_tensor(value, dtype=self.dtype)], None, name)
        return _Assigned(self, done) if read_value else done

    return assign


class _Assigned:
    """The variable after an assignment: as a tensor it is the new value, as a fetch or dependency the assignment."""

    def __init__(self, variable, op):
        self._variable, self.op, self.graph = variable, op, variable.graph
        self._value = self._read()

    def _read(self):
        with self.graph.control_dependencies([self.op]):
            return _read(self._variable)

    value = read_value = _thalweg_tensor = lambda self: self._read()

    @property
    def _thalweg_dtype(self):
        return self.dtype

    def _thalweg_fetch(self):
        return (lambda value: value), [self._value]

    dtype = property(lambda self: self._variable.dtype)
    shape = property(lambda self: self._variable.shape)
    name = property(lambda self: self.op.name)

    def get_shape(self):
        return self.shape

    def eval(self, feed_dict=None, session=None):
        return self._value.eval(feed_dict, session)

    def _then(self, method, *args, **kwargs):
        with self.graph.control_dependencies([self.op]):
            return getattr(self._variable, method)(*args, **kwargs)

    def assign(self, *args, **kwargs):
        return self._then("assign", *args, **kwargs)

    def assign_add(self, *args, **kwargs):
        return self._then("assign_add", *args, **kwargs)

    def assign_sub(self, *args, **kwargs):
        return self._then("assign_sub", *args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._variable, name)


from ._operators import _install  # noqa: E402

_install(_Assigned)
_Assigned.shape = property(lambda self: self._variable.shape)


def _read(self):
    if isinstance(self, _engine.EagerVariable):
        return convert_to_tensor(self)
    return call("ReadVariableOp", [self.handle], {"dtype": self.dtype})


def _set(name, value):
    setattr(Variable, name, value)


_set("__new__", staticmethod(lambda cls, *args, **kwargs: _make(*args, **kwargs)))
_set("assign", _assign_with("AssignVariableOp"))
_set("assign_add", _assign_with("AssignAddVariableOp"))
_set("assign_sub", _assign_with("AssignSubVariableOp"))
_set("value", _read)


def _read_value(self):
    if isinstance(self, _engine.EagerVariable):
        return convert_to_tensor(self)
    with name_scope("Read"):
        value = _read(self)
    return call("Identity", [value])


_set("read_value", _read_value)
_set("initialized_value", lambda self: _initialized_value(self))
_set("eval", lambda self, session=None: self._graph_element.eval(session=session))
_set("load", lambda self, value, session=None: _load(self, value, session))
_set("sparse_read", lambda self, indices, name=None: call("ResourceGather", [self.handle, indices], {"dtype": self.dtype}, name))
_set("set_shape", lambda self, shape: TensorShape(shape).assert_is_compatible_with(self.shape))
_set("is_initialized", lambda self, name=None: convert_to_tensor(True) if isinstance(self, _engine.EagerVariable) else call("VarIsInitializedOp", [self.handle], None, name))


def _scatter(op):
    return lambda self, indices, updates, name=None: call(op, [self.handle, indices, convert_to_tensor(updates, self.dtype)], None, name)


for _name, _op in (("scatter_nd_add", "ResourceScatterNdAdd"), ("scatter_nd_update", "ResourceScatterNdUpdate")):
    _set(_name, _scatter(_op))


def _initialized_value(v):
    from ._control_flow import cond

    return cond(v.is_initialized(), v.read_value, lambda: v.initial_value)


def _load(v, value, session):
    from ._session import _session_of

    _session_of(session, v.graph).run(v.initializer, {v.initial_value: value})


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    return ref.assign_add(value, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    return ref.assign_sub(value, name=name)


# Variable scopes.

class VariableScope:
    """The open variable scope: a prefix of variables' names, whether they are reused, and defaults of new ones."""

    def __init__(self, name, reuse, original_name_scope="", initializer=None, regularizer=None, dtype="float32"):
        self._name, self._reuse, self.original_name_scope = name, reuse, original_name_scope
        self.initializer, self.regularizer, self.dtype = initializer, regularizer, _engine.as_dtype(dtype)

    name = property(lambda self: self._name)
    reuse = property(lambda self: self._reuse)

    def reuse_variables(self):
        """From here on, variables must exist."""
        graph = get_default_graph()
        scopes = graph._scopes
        scopes[-1] = scopes[-1].variable_scope_again(self._name, True, False)
        self._reuse = True

    def set_initializer(self, initializer):
        self.initializer = initializer

    def global_variables(self):
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self._name + "/" if self._name else None)

    def trainable_variables(self):
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self._name + "/" if self._name else None)


def _reuse_value(value):
    return {False: False, True: True, None: AUTO_REUSE}[value]


def _open_scopes(graph):
    """The open variable scopes of this thread, innermost last."""
    threads = graph._threads
    if not hasattr(threads, "variable_scopes"):
        threads.variable_scopes = [VariableScope("", False)]
    return threads.variable_scopes


def get_variable_scope():
    return _open_scopes(get_default_graph())[-1]


@contextlib.contextmanager
def variable_scope(name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, caching_device=None,
                   partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None,
                   auxiliary_name_scope=True):
    """Variables made inside by `get_variable`, and nodes, are named `name/..`."""
    graph = get_default_graph()
    outer, at = get_variable_scope(), graph._scope
    if reuse is not None and not isinstance(reuse, (bool, _AutoReuse)):
        raise ValueError("The reuse parameter must be True or False or None.")
    if isinstance(name_or_scope, VariableScope):
        if reuse is None:
            reuse = name_or_scope.reuse or outer.reuse
        inner = at.variable_scope_again(name_or_scope.name, reuse, auxiliary_name_scope)
        initializer = initializer or name_or_scope.initializer
        regularizer = regularizer or name_or_scope.regularizer
    else:
        inner = at.variable_scope(name_or_scope, default_name, reuse)
    name, reuses = inner.variable_scope_name()
    opened = VariableScope(name, _reuse_value(reuses), inner.name + "/", initializer or outer.initializer, regularizer or outer.regularizer,
                           dtype or outer.dtype)
    scopes = _open_scopes(graph)
    if isinstance(opened.initializer, type):
        opened.initializer = opened.initializer()
    for_layers = getattr(opened.initializer, "_engine", None)
    if for_layers is not None:
        inner = inner.with_initializer(for_layers)
    with graph._entered(inner):
        scopes.append(opened)
        try:
            yield opened
        finally:
            scopes.pop()


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None, caching_device=None,
                 partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None, synchronization=None,
                 aggregation=None):
    """The variable of that name in the open variable scope: created, or shared if the scope reuses."""
    graph = get_default_graph()
    opened = get_variable_scope()
    if initializer is None:
        initializer = opened.initializer
    if dtype is None and (initializer is None or callable(initializer)):
        dtype = opened.dtype
    before = set(v.name for v in graph._root.global_variables()) if (regularizer or opened.regularizer) else None
    made = graph._scope.get_variable(name, shape, dtype, initializer, trainable is not False)
    regularizer = regularizer or opened.regularizer
    if before is not None and made.name not in before:
        with name_scope(made.op.name + "/Regularizer/"):
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(made))
    for key in collections or ():
        if key == GraphKeys.LOCAL_VARIABLES:
            graph._root.add_to_collection(key, made.handle)
        elif key not in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
            graph._collections.setdefault(key, []).append(made)
    return made


def get_local_variable(name, *args, **kwargs):
    kwargs["trainable"] = False
    kwargs["collections"] = [GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **kwargs)


def global_variables(scope=None):
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


all_variables = global_variables


def local_variables(scope=None):
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope=None):
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def variables_initializer(var_list, name="init"):
    """One operation that initialises these variables."""
    return current_scope().group([v.initializer for v in var_list], name)


initialize_variables = variables_initializer


def global_variables_initializer():
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer():
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def tables_initializer(name="init_all_tables"):
    return current_scope().group(get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name)


def is_variable_initialized(variable):
    return variable.is_initialized()


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    from ._arrays import boolean_mask, stack

    variables = var_list if var_list is not None else global_variables() + local_variables()
    with name_scope(name):
        if not variables:
            return convert_to_tensor([], dtype="string")
        missing = call("LogicalNot", [stack([v.is_initialized() for v in variables])])
        return boolean_mask(convert_to_tensor([v.op.name for v in variables]), missing)
