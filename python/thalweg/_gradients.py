"""Gradients: the engine makes their nodes."""

from . import _engine
from ._control_flow import _flat
from ._graphs import convert_to_tensor, current_scope, name_scope
from ._op_functions import call
from ._slices import IndexedSlices


class AggregationMethod:
    ADD_N, DEFAULT, EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N = 0, 0, 1, 2


def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None,
              stop_gradients=None, unconnected_gradients=None):
    """The gradients of the sum of `ys` with respect to each of `xs`: a tensor, IndexedSlices, or None where there is none."""
    if not isinstance(current_scope(), _engine.Scope):
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    ys, xs = _flat(ys), _flat(xs)
    grad_ys = [] if grad_ys is None else [convert_to_tensor(g) for g in _flat(grad_ys)]
    return _engine.gradients(current_scope(), ys, xs, grad_ys, _flat(stop_gradients) if stop_gradients is not None else [])


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    with name_scope(name, "clip_by_value") as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t)
        low = call("Minimum", [values, clip_value_max])
        clipped = call("Maximum", [low, clip_value_min], None, scope)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped


def clip_by_norm(t, clip_norm, axes=None, name=None):
    return _engine.clip_by_norm(current_scope(), t, clip_norm)


def clip_by_average_norm(t, clip_norm, name=None):
    return _engine.clip_by_average_norm(current_scope(), t, clip_norm)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    return _engine.clip_by_global_norm(current_scope(), list(t_list), clip_norm)


def global_norm(t_list, name=None):
    return _engine.global_norm(current_scope(), list(t_list))
