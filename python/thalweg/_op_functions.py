"""Functions of ops, generated from the engine's op table: `tf.raw_ops.MatMul(a=.., b=..)` for each op, and by its name in lower case
for modules to publish (`function("Relu")`)."""

import collections
import functools
import inspect

from . import _engine
from ._graphs import current_scope

_NAMES = None


def names():
    """Names of all ops."""
    global _NAMES
    if _NAMES is None:
        _NAMES = {name: None for name in _engine.op_names()}
    return _NAMES


class OpFunction:
    """Makes a node of one op: takes its inputs and attrs, by position or by name, and a name; returns its outputs."""

    def __init__(self, op, public_name=None):
        definition = _engine.op_definition(op)
        self._op = op
        self._inputs = [i[0] for i in definition["inputs"]]
        attrs = sorted(definition["attrs"], key=lambda attr: attr[2])
        self._attrs = {attr[0]: attr for attr in attrs}
        self._parameters = self._inputs + list(self._attrs) + ["name"]
        self._required = set(self._inputs) | {a[0] for a in attrs if not a[2]}
        self._definition = definition
        outputs = definition["outputs"]
        # More than one output: a tuple with their names.
        self._tuple = collections.namedtuple(op, [o[0] for o in outputs], rename=True) if len(outputs) > 1 else None
        self.__name__ = self.__qualname__ = public_name or op
        self.__module__ = "thalweg"

    def __call__(self, *args, **kwargs):
        if len(args) > len(self._parameters):
            raise TypeError(f"{self.__name__}() takes {len(self._parameters)} arguments, got {len(args)}")
        given = dict(zip(self._parameters, args))
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{self.__name__}() got multiple values for argument '{key}'")
            if key not in self._attrs and key != "name" and key not in self._inputs:
                raise TypeError(f"{self.__name__}() got an unexpected keyword argument '{key}'; it takes {', '.join(self._parameters)}")
            given[key] = value
        missing = self._required.difference(given)
        if missing:
            listed = ", ".join(f"'{p}'" for p in self._parameters if p in missing)
            raise TypeError(f"{self.__name__}() missing required arguments: {listed}")
        attrs = {key: given[key] for key in self._attrs if given.get(key) is not None}
        made = current_scope().op(self._op, [given[i] for i in self._inputs], attrs, given.get("name"))
        return self._tuple(*made) if self._tuple is not None else made

    @property
    def __doc__(self):
        d = self._definition
        lines = [d["doc"] or d["name"], ""]
        lines += [f"    {name}: {kind}" for name, kind, _ in d["inputs"]]
        lines += [f"    {a[0]}: {a[1]}" + (f" = {a[3]!r}" if a[2] else "") for a in self._attrs.values()]
        lines += ["", "Returns " + (", ".join(f"{name}: {kind}" for name, kind, _ in d["outputs"]) or "the operation") + "."]
        return "\n".join(lines)

    @property
    def __signature__(self):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(i, kind) for i in self._inputs]
        for name, _, has_default, default in self._attrs.values():
            parameters.append(inspect.Parameter(name, kind, default=default if has_default else inspect.Parameter.empty))
        return inspect.Signature(parameters + [inspect.Parameter("name", kind, default=None)])

    def __repr__(self):
        return f"<function {self.__name__}>"

    def __reduce__(self):
        return function, (self._op, self.__name__)


@functools.lru_cache(maxsize=None)
def function(op, public_name=None):
    """The function of an op."""
    return OpFunction(op, public_name or snake(op))


def call(op, inputs, attrs=None, name=None):
    """A node of an op; inputs in the order of its signature."""
    return current_scope().op(op, inputs, attrs, name)


def snake(op):
    """The name of an op's function: `MatMul` is `mat_mul`, `Conv2D` is `conv2d`."""
    out = []
    for i, c in enumerate(op):
        if c.isupper() and i > 0 and (op[i - 1].islower() or (i + 1 < len(op) and op[i + 1].islower())):
            out.append("_")
        out.append(c.lower())
    return "".join(out)


@functools.lru_cache(maxsize=None)
def _by_public_name():
    return {snake(op): op for op in names() if ">" not in op}


def public_names():
    return list(_by_public_name())


def public(name):
    """The function of the op that has this name in lower case, in its newest version; None if there is none."""
    table = _by_public_name()
    op = table.get(name)
    if op is None:
        return None
    for version in range(9, 1, -1):
        if f"{name}_v{version}" in table:
            return function(table[f"{name}_v{version}"], name)
    return function(op, name)


def namespace(module_globals, ops, prefixes=()):
    """`__getattr__` and `__dir__` of a module of ops. `ops` are names with their ops; any other name is looked for in the op table, also
    with these prefixes."""
    module = module_globals["__name__"]

    def __getattr__(name):
        op = ops.get(name)
        found = function(op, name) if op in names() else None
        for prefix in () if found else ("",) + tuple(prefixes):
            found = public(prefix + name)
            if found:
                break
        if found is None:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        module_globals[name] = found
        return found

    def __dir__():
        return sorted(set(module_globals) | set(ops))

    return __getattr__, __dir__
