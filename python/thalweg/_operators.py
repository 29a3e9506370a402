"""Operators and methods of tensors: what the engine's `Tensor` and `Operation` have in Python."""

from . import _engine
from ._graphs import convert_to_tensor, current_scope, get_default_graph, name_scope
from ._op_functions import call
from ._shapes import TensorShape

Tensor, Operation, Variable = _engine.Tensor, _engine.Operation, _engine.Variable


def _binary(name, op, prepare=None):
    """An operator and its reflection: the op of both operands, in a name scope of the operator's name."""

    def operator(x, y):
        if getattr(y, "__array_priority__", 0) > 100 and not isinstance(y, (Tensor, Variable)):
            return NotImplemented
        return _node(name, op, x, y, prepare)

    def reflected(y, x):
        return _node(name, op, x, y, prepare)

    return operator, reflected


def _node(name, op, x, y, prepare):
    with name_scope(name) as scope:
        if prepare is not None:
            return prepare(scope, x, y)
        return call(op, [x, y], None, scope)


def _pair(x, y):
    """Both as tensors, of the type of the one that is a tensor."""
    if isinstance(x, (Tensor, Variable)):
        x = convert_to_tensor(x, name="x")
        return x, convert_to_tensor(y, dtype_hint=x.dtype, name="y")
    y = convert_to_tensor(y, name="y")
    return convert_to_tensor(x, dtype=y.dtype, name="x"), y


def _true_division(scope, x, y):
    x, y = _pair(x, y)
    if x.dtype != y.dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    wider = {"int8": "float32", "uint8": "float32", "int16": "float32", "uint16": "float32", "int32": "float64", "int64": "float64",
             "uint32": "float64", "uint64": "float64"}.get(x.dtype.name)
    if wider:
        x, y = call("Cast", [x], {"DstT": wider}), call("Cast", [y], {"DstT": wider})
    return call("RealDiv", [x, y], None, scope)


def _logical(logical, bitwise):
    def prepare(scope, x, y):
        x, y = _pair(x, y)
        return call(logical if x.dtype.is_bool else bitwise, [x, y], None, scope)

    return prepare


def _exclusive(scope, x, y):
    x, y = _pair(x, y)
    if not x.dtype.is_bool:
        return call("BitwiseXor", [x, y], None, scope)
    either, both = call("LogicalOr", [x, y]), call("LogicalAnd", [x, y])
    return call("LogicalAnd", [either, call("LogicalNot", [both])], None, scope)


def _matrix_product(scope, x, y):
    from ._mathematics import matmul

    x, y = _pair(x, y)
    return matmul(x, y, name=scope)


_OPERATORS = {
    "add": _binary("add", "AddV2"),
    "sub": _binary("sub", "Sub"),
    "mul": _binary("mul", "Mul"),
    "truediv": _binary("truediv", None, _true_division),
    "floordiv": _binary("floordiv", "FloorDiv"),
    "mod": _binary("mod", "FloorMod"),
    "pow": _binary("pow", "Pow"),
    "matmul": _binary("matmul", None, _matrix_product),
    "and": _binary("and", None, _logical("LogicalAnd", "BitwiseAnd")),
    "or": _binary("or", None, _logical("LogicalOr", "BitwiseOr")),
    "xor": _binary("xor", None, _exclusive),
}


def _operate(name, x, y):
    """An operator by its name, for the engine's tensors with values."""
    return _OPERATORS[name][0](x, y)


def _compared(op, x, y):
    try:
        return call(op, [x, y])
    except (TypeError, ValueError):
        if op in ("Equal", "NotEqual") and not isinstance(y, (Tensor, Variable)):
            return op == "NotEqual"
        raise


def _compare(op):
    return lambda x, y: call(op, [x, y])


def _invert(x):
    x = convert_to_tensor(x)
    return call("LogicalNot" if x.dtype.is_bool else "Invert", [x])


def _getitem(x, key):
    """Slices, indices, `...`, `tf.newaxis` and masks, as one StridedSlice."""
    if getattr(key, "dtype", None) in ("bool",) or isinstance(key, bool):
        from ._arrays import boolean_mask

        return boolean_mask(x, key)
    with name_scope("strided_slice") as scope:
        x = convert_to_tensor(x)
        begin, end, strides = [], [], []
        masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
        for i, part in enumerate(key if isinstance(key, (tuple, list)) else (key,)):
            bit = 1 << i
            if isinstance(part, slice):
                for bound, to, mask in ((part.start, begin, "begin_mask"), (part.stop, end, "end_mask")):
                    if bound is None:
                        masks[mask] |= bit
                    to.append(0 if bound is None else _index(bound))
                strides.append(1 if part.step is None else _index(part.step))
                continue
            if part is Ellipsis or part is None:
                masks["ellipsis_mask" if part is Ellipsis else "new_axis_mask"] |= bit
                begin.append(0)
                end.append(0 if part is Ellipsis else 1)
            else:
                begin.append(_index(part))
                end.append(part + 1)
                masks["shrink_axis_mask"] |= bit
            strides.append(1)
        packed = [_stacked(parts, name) for parts, name in ((begin, "stack"), (end, "stack_1"), (strides, "stack_2"))]
        return call("StridedSlice", [x, *packed], masks, scope)


def _index(i):
    if isinstance(i, (float, str)):
        raise TypeError(f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid"
                        f" indices, got {i!r}")
    return i


def _stacked(parts, name):
    return convert_to_tensor([0] * 0 if not parts else parts, name=name) if parts else convert_to_tensor(parts, "int32", name)


def _iter(x):
    if x.shape.rank is None or x.shape.rank == 0 or x.shape[0] is None:
        raise TypeError(f"Iterating over a symbolic `tf.Tensor` is not allowed: its first dimension is unknown or missing ({x}).")
    return (x[i] for i in range(x.shape[0]))


def _len(x):
    raise TypeError(f"len is not well defined for a symbolic Tensor ({x.name}). Please call `x.shape` rather than `len(x)`.")


def _array(x, *args, **kwargs):
    raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({x.name}) to a numpy array: run it in a session.")


def _shape(x):
    return TensorShape(x._dims)


def _install_comparisons(cls):
    for name, op in (("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"), ("ge", "GreaterEqual")):
        setattr(cls, f"__{name}__", _compare(op))


def _install(cls):
    for name, (operator, reflected) in _OPERATORS.items():
        setattr(cls, f"__{name}__", operator)
        setattr(cls, f"__r{name}__", reflected)
    _install_comparisons(cls)
    cls.__neg__ = lambda x: call("Neg", [x])
    cls.__abs__ = lambda x: call("ComplexAbs" if x.dtype.is_complex else "Abs", [x])
    cls.__invert__ = _invert
    cls.__getitem__ = _getitem
    cls.__iter__ = _iter
    cls.__len__ = _len
    cls.__array__ = _array
    cls.__array_priority__ = 100
    cls.shape = property(_shape)
    cls.get_shape = _shape


_install(Tensor)
_install(Variable)
# Classes that compare for equality do not inherit other comparisons.
for _class in (_engine.SymbolicTensor, _engine.GraphVariable, _engine.EagerVariable):
    _install_comparisons(_class)


def _eval(self, feed_dict=None, session=None):
    """The value of the tensor, in the given or the default session."""
    from ._session import _session_of

    return _session_of(session, self.graph).run(self, feed_dict)


def _run(self, feed_dict=None, session=None):
    """Runs the operation, in the given or the default session."""
    from ._session import _session_of

    _session_of(session, self.graph).run(self, feed_dict)


Tensor.eval = _eval
Tensor._rank = lambda self: self.shape.rank
Tensor.experimental_ref = Tensor.ref = lambda self: _Reference(self)
Operation.run = _run
Operation.values = lambda self: tuple(self.outputs)
Operation.node_def = property(lambda self: self.graph.as_graph_def()._node(self.name))


class _Reference:
    """A tensor as a key of dicts."""

    def __init__(self, tensor):
        self._tensor = tensor

    def deref(self):
        return self._tensor

    def __hash__(self):
        return id(self._tensor) if isinstance(self._tensor, _engine.EagerTensor) else hash(self._tensor)

    def __eq__(self, other):
        if isinstance(self._tensor, _engine.EagerTensor):
            return isinstance(other, _Reference) and self._tensor is other._tensor
        return isinstance(other, _Reference) and self._tensor == other._tensor
