"""Learning rates that decay with the global step: the engine's."""

from .. import _engine
from .._graphs import current_scope


def _decay(kind, rate, step, decay_steps, decay_rate, staircase, end=0.0):
    return _engine.losses.decay(current_scope(), kind, rate, step, decay_steps, decay_rate, staircase, end)


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    return _decay("exponential", learning_rate, global_step, decay_steps, decay_rate, staircase)


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    return _decay("natural_exp", learning_rate, global_step, decay_steps, decay_rate, staircase)


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    return _decay("inverse_time", learning_rate, global_step, decay_steps, decay_rate, staircase)


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None):
    return _decay("polynomial", learning_rate, global_step, decay_steps, power, cycle, end_learning_rate)


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    return _decay("cosine", learning_rate, global_step, decay_steps, alpha, False)


def piecewise_constant(x, boundaries, values, name=None):
    return _engine.losses.piecewise_constant(current_scope(), x, list(boundaries), list(values))


piecewise_constant_decay = piecewise_constant
