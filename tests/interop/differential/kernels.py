"""Which types of an op TensorFlow has CPU kernels for, from the registry in its wheel."""

import functools
import itertools

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

FLOATS = [tf.float32, tf.float64, tf.float16, tf.bfloat16]
INTS = [tf.int32, tf.int64, tf.int8, tf.int16, tf.uint8, tf.uint16, tf.uint32, tf.uint64]
COMPLEX = [tf.complex64, tf.complex128]
# What is compared. Quantized, 8-bit float and 4-bit types are left out: our op table has no kernels for them.
ORDINARY = FLOATS + INTS + COMPLEX + [tf.bool, tf.string]


def allowed(attr):
    """The compared types that a type attr allows."""
    if attr.allowed_values.list.type:
        types = [tf.as_dtype(t) for t in attr.allowed_values.list.type]
        return [t for t in ORDINARY if t in types]
    return list(ORDINARY)


@functools.cache
def combinations(op):
    """Every assignment of compared types to the op's type attrs that has a CPU kernel."""
    definition = op_def_registry.get(op)
    attrs = [a for a in definition.attr if a.type == "type"]
    found = {}
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type not in ("CPU", "DEFAULT") or kernel.label:
            continue
        limits = {c.name: [tf.as_dtype(t) for t in c.allowed_values.list.type] for c in kernel.constraint}
        choices = [[t for t in allowed(a) if t in limits.get(a.name, ORDINARY)] for a in attrs]
        for combination in itertools.islice(itertools.product(*choices), 400):
            found[combination] = None
    if not found:  # an op that TensorFlow rewrites before it runs, such as AccumulateNV2
        found = dict.fromkeys(itertools.islice(itertools.product(*[allowed(a) for a in attrs]), 400))
    return [dict(zip([a.name for a in attrs], c)) for c in found]
