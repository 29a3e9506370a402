"""Reading and parsing."""

from ._op_functions import namespace

__getattr__, __dir__ = namespace(globals(), {}, ())
