"""Functions of Python as ops of sessions in this process."""

import itertools
import weakref

from . import _engine
from ._control_flow import _flat
from ._eager import executing_eagerly
from ._graphs import convert_to_tensor, get_default_graph
from ._op_functions import call

_numbers = itertools.count()


def py_func(func, inp, Tout, stateful=True, name=None):
    """Results of `func`, which is called with arrays each time the op runs."""
    return _made(func, inp, Tout, name or "PyFunc")


numpy_function = py_func


def py_function(func=None, inp=None, Tout=None, name=None):
    """Results of `func`, which is called with tensors that have values each time the op runs: ops in it run at once."""
    from ._eager import context

    def with_tensors(*arrays):
        with context.as_default():
            results = func(*[_engine.eager_constant(a) for a in arrays])
            return _listed(results)

    if executing_eagerly():
        with context.as_default():
            results = func(*[convert_to_tensor(i) for i in inp])
        return [convert_to_tensor(r, t) for r, t in zip(_listed(results), _flat(Tout))] if isinstance(Tout, (list, tuple)) else (
            None if Tout is None else convert_to_tensor(results, Tout))
    return _made(with_tensors, inp, Tout, name or "EagerPyFunc")


def _listed(results):
    return [] if results is None else list(results) if isinstance(results, (list, tuple)) else [results]


def _made(func, inp, Tout, name):
    types = [_engine.as_dtype(t) for t in _flat(Tout)] if Tout is not None else []
    inputs = [convert_to_tensor(i) for i in inp]
    if executing_eagerly():
        results = [convert_to_tensor(r, t) for r, t in zip(_listed(func(*[i.numpy() for i in inputs])), types)]
    else:
        token = f"pyfunc_{next(_numbers)}"
        _engine.register_function(token, lambda *args: _listed(func(*args)))
        weakref.finalize(get_default_graph(), _engine.forget_function, token)
        results = call("PyFunc", [inputs], {"token": token, "Tin": [i.dtype for i in inputs], "Tout": types}, name)
        if not types:
            # An op without results is fetched itself.
            return get_default_graph().get_operations()[-1]
    return list(results) if isinstance(Tout, (list, tuple)) else results[0]
