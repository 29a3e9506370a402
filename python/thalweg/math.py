"""Arithmetic."""

from ._mathematics import *
from ._arrays import linspace, range, zeros
from ._mathematics import __all__ as _all
from ._op_functions import namespace

_OPS = {"l2_normalize": None, "segment_sum": "SegmentSum", "unsorted_segment_sum": "UnsortedSegmentSum", "rsqrt": "Rsqrt"}


def _special(name):
    if name in ("l2_normalize", "zero_fraction", "softplus", "softsign"):
        from . import nn

        return getattr(nn, name)
    raise AttributeError(name)


_table, __dir__ = namespace(globals(), {k: v for k, v in _OPS.items() if v})


def __getattr__(name):
    try:
        return _table(name)
    except AttributeError:
        return _special(name)
