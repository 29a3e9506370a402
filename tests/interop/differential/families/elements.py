"""Ops of datasets that are no datasets themselves: functions of rows, compressed elements. The others are compared as pipelines."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1
raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.int32, tf.int64]


def map_defun(g):
    """A function of the rows of two tensors and a captured one; at times its results have a shape that no attr tells, or differ."""
    dtype, rows, shape = g.pick(TYPES), g.int(0, 5), g.shape(0, 2)
    other = rows if g.coin(0.9) else rows + 1
    kind = g.pick(["same", "unknown", "repeated", "strings"])
    counts = g.ints(0, 2, (rows,)) if g.coin(0.3) else np.full((rows,), g.int(0, 3), np.int32)

    def build(t):
        body = {
            "same": lambda x, n, y: (x * y + x, x - y),
            "unknown": lambda x, n, y: (x * y, x + y),
            "repeated": lambda x, n, y: (tf.fill([n], n), x + y),
            "strings": lambda x, n, y: (tf.strings.as_string(n), x * y),
        }[kind]
        first = {"repeated": tf.int32, "strings": tf.string}.get(kind, dtype)
        f = function.Defun(dtype, tf.int32, dtype)(body)
        f.add_to_graph(tf1.get_default_graph())
        known = tf.TensorShape(shape)
        shapes = [{"same": known, "strings": tf.TensorShape([])}.get(kind), None if kind == "unknown" else known]
        return raw.MapDefun(arguments=[t[0], t[1]], captured_inputs=[t[2]], output_types=[first, dtype], output_shapes=shapes, f=f)

    return g.program(build, g.array(dtype, (rows, *shape), "plain"), counts if other == rows else g.ints(0, 2, (other,)), g.array(dtype, (), "plain"), label=kind)


def compressed(g):
    """Tensors of any types, compressed and back; at times as others than they are."""
    types = [g.pick([*TYPES, tf.bool, tf.uint8, tf.half, tf.complex64, tf.string]) for _ in range(g.int(1, 4))]
    wanted = list(types)
    if g.coin(0.1):
        wanted[-1] = tf.int16
    if g.coin(0.1):
        wanted.append(tf.int32)

    def build(t):
        held = raw.CompressElement(components=t)
        return raw.UncompressElement(compressed=held, output_types=wanted, output_shapes=[None] * len(wanted))

    return g.program(build, *(g.array(t, g.shape(0, 3)) for t in types))


GENERATORS = {"MapDefun": map_defun, "CompressElement": compressed, "UncompressElement": compressed}
