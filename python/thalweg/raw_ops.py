"""A function for each op of the table: `tf.raw_ops.MatMul(a=a, b=b, transpose_a=False, transpose_b=False, name=None)`."""

from . import _op_functions


def __getattr__(name):
    if name not in _op_functions.names():
        raise AttributeError(f"module 'thalweg.raw_ops' has no attribute '{name}'")
    found = globals()[name] = _op_functions.function(name, name)
    return found


def __dir__():
    return sorted(_op_functions.names())
