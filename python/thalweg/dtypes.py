"""The element types."""

from ._engine import DType, as_dtype


def __getattr__(name):
    try:
        return as_dtype(name)
    except TypeError:
        raise AttributeError(f"module 'thalweg.dtypes' has no attribute '{name}'") from None
