"""Checks of values while a step runs; what is known before is checked at once."""

from . import _engine
from ._control_flow import Assert, group
from ._graphs import convert_to_tensor, name_scope
from ._mathematics import reduce_all
from ._op_functions import call
from ._shapes import TensorShape

__all__ = ["assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal",
           "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
           "assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type", "check_numerics", "is_finite", "is_inf", "is_nan",
           "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing"]


def _binary(op, sign, name):
    def check(x, y, data=None, summarize=None, message=None, name=None):
        with name_scope(name, check.__name__):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, dtype_hint=x.dtype, name="y")
            data = [message or "", f"Condition x {sign} y did not hold element-wise:", f"x ({x.name}) = ", x, f"y ({y.name}) = ", y] if data is None else data
            return Assert(reduce_all(call(op, [x, y])), data, summarize)

    check.__name__ = check.__qualname__ = name
    return check


assert_equal = _binary("Equal", "==", "assert_equal")
assert_none_equal = _binary("NotEqual", "!=", "assert_none_equal")
assert_less = _binary("Less", "<", "assert_less")
assert_less_equal = _binary("LessEqual", "<=", "assert_less_equal")
assert_greater = _binary("Greater", ">", "assert_greater")
assert_greater_equal = _binary("GreaterEqual", ">=", "assert_greater_equal")


def _sign(compare, name):
    def check(x, data=None, summarize=None, message=None, name=None):
        x = convert_to_tensor(x, name="x")
        return compare(x, convert_to_tensor(0, x.dtype), data, summarize, message, name)

    check.__name__ = check.__qualname__ = name
    return check


assert_positive, assert_non_negative = _sign(assert_greater, "assert_positive"), _sign(assert_greater_equal, "assert_non_negative")
assert_negative, assert_non_positive = _sign(assert_less, "assert_negative"), _sign(assert_less_equal, "assert_non_positive")


def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    with name_scope(name, "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype, name="y")
        eps = {"float16": 1e-2, "float64": 2.22e-15}.get(x.dtype.name, 1.19e-6)
        limit = (eps if atol is None else atol) + (eps if rtol is None else rtol) * abs(y)
        data = [message or "", "x and y not equal to tolerance", x, y] if data is None else data
        return Assert(reduce_all(call("Less", [abs(x - y), limit])), data, summarize)


def _rank(test, said):
    def check(x, rank, data=None, summarize=None, message=None, name=None):
        x = convert_to_tensor(x, name="x")
        known = x.shape.rank
        if known is None:
            raise NotImplementedError("the rank of the tensor must be known")
        if not test(known, rank):
            raise ValueError(f"{message or ''}. Tensor {x.name} must have rank {said}{rank}. Received rank {known}, shape {x.shape}")
        return group()

    return check


assert_rank = _rank(lambda known, rank: known == rank, "")
assert_rank_at_least = _rank(lambda known, rank: known >= rank, "at least ")
assert_rank_in = _rank(lambda known, ranks: known in ranks, "in ")


def assert_scalar(tensor, name=None, message=None):
    assert_rank(tensor, 0, message=message)
    return tensor


def assert_type(tensor, tf_type, message=None, name=None):
    if tensor.dtype != tf_type:
        raise TypeError(f"{message or ''}{tensor.name} must be of type {_engine.as_dtype(tf_type)!r}; got {tensor.dtype!r}")
    return group()


def assert_integer(x, message=None, name=None):
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{message or ''}Expected \"x\" to be integer type. Found: {x.dtype!r}")
    return group()


def check_numerics(tensor, message, name=None):
    return call("CheckNumerics", [tensor], {"message": message}, name)


def assert_all_finite(t=None, msg=None, name=None, x=None, message=None):
    return check_numerics(x if t is None else t, message if msg is None else msg, name)


def is_numeric_tensor(tensor):
    return isinstance(tensor, _engine.Tensor) and (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex)


def _steps(op):
    def check(x, name=None):
        x = convert_to_tensor(x)
        return reduce_all(call(op, [x[:-1], x[1:]]))

    return check


is_non_decreasing, is_strictly_increasing = _steps("LessEqual"), _steps("Less")


def is_nan(x, name=None):
    return call("IsNan", [x], None, name)


def is_inf(x, name=None):
    return call("IsInf", [x], None, name)


def is_finite(x, name=None):
    return call("IsFinite", [x], None, name)
