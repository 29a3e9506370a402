"""The global step."""

from .. import _engine
from .._graphs import current_scope, get_default_graph


def get_global_step(graph=None):
    """The graph's global step, or None."""
    return _engine.global_step((graph or get_default_graph())._root, False)


def get_or_create_global_step(graph=None):
    return _engine.global_step((graph or get_default_graph())._scope, True)


def create_global_step(graph=None):
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    return get_or_create_global_step(graph)


def assert_global_step(global_step_tensor):
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(f"Existing \"global_step\" does not have integer type: {global_step_tensor.dtype}")


def global_step(sess, global_step_tensor):
    return int(sess.run(global_step_tensor))
