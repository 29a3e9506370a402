"""Differences that stay, each with its reason: what TensorFlow does there is a mistake, or left to chance.

An entry: the ops, a test of the case and both outcomes, and why. Everything else that differs is a failure.
"""

import numpy as np
import tensorflow as tf


def first_type(case):
    return case.types.split(",")[0]


def any_input(case, test):
    return any(test(a) for a in case.arrays())


def nothing_to_do(case, ours, theirs):
    """TensorFlow returns early where a result has no elements, before it has looked at the rest."""
    return not theirs.error and ours.error == "InvalidArgumentError" and all(np.size(v) == 0 or np.size(v) == np.size(case.inputs[0]) for v in theirs.values if v is not None)


DEVIATIONS = [
    ({"Round"}, lambda c, o, t: first_type(c).startswith("int"), "TensorFlow's kernel for whole numbers gives zeros; rounding one is the number itself"),
    ({"ArgMax"}, lambda c, o, t: ",int16," in c.types, "TensorFlow reads an int16 dimension as int32, with what lies beside it in memory"),
    (
        {"PriorityQueue", "PriorityQueueV2"} | {f"Queue{what}{v}" for what in "Close DequeueUpTo Enqueue EnqueueMany IsClosed Size DequeueMany Dequeue".split() for v in ("", "V2")},
        lambda c, o, t: "PriorityQueue up_to" in c.label and t.error == "OutOfRangeError",
        "TensorFlow's priority queue loses what is left when fewer than n remain after closing; ours gives it out, as the other queues do",
    ),
    ({"TensorStridedSliceUpdate"}, nothing_to_do, "an update of nothing: TensorFlow does not look at the value's shape"),
]


def reason(case, ours, theirs):
    return next((why for ops, test, why in DEVIATIONS if case.op in ops and test(case, ours, theirs)), None)
