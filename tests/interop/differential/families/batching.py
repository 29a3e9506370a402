"""Batches of one call, which is all that one step makes of them; those of several are in test_server_batches.py."""

import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1
raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.int32, tf.int64]


def limits(g, n):
    most = n + g.int(0, 2)
    sizes = [most] if g.coin() else []
    return {"num_batch_threads": 1, "max_batch_size": most - (2 if g.coin(0.1) else 0) or 1, "batch_timeout_micros": 0, "allowed_batch_sizes": sizes}


def batch_function(g):
    dtype, n, inner = g.pick(TYPES), g.int(1, 4), g.shape(0, 2, zeros=False)
    attrs = limits(g, n)

    def build(t):
        f = function.Defun(dtype, dtype, dtype)(lambda x, y, k: (x * y + k, x - y))
        f.add_to_graph(tf1.get_default_graph())
        return raw.BatchFunction(in_tensors=t[:2], captured_tensors=t[2:], f=f, Tout=[dtype, dtype], shared_name=g.name(), **attrs)

    return g.program(build, *(g.array(dtype, s, "plain") for s in ((n,) + inner, (n,) + inner, ())))


def batch(g):
    """There and back again. The ids are random."""
    dtype, n, inner = g.pick(TYPES), g.int(1, 4), g.shape(0, 2, zeros=False)
    attrs = limits(g, n)

    def build(t):
        batched, index, id_ = raw.Batch(in_tensors=[t[0]], grad_timeout_micros=1000000, shared_name=g.name(), **attrs)
        back = raw.Unbatch(batched_tensor=batched[0], batch_index=index, id=id_, timeout_micros=1000000, shared_name=g.name())
        grads = raw.UnbatchGrad(original_input=batched[0], batch_index=index, grad=back, id=id_, shared_name=g.name())
        return [batched[0], index[:, 1:], back, grads[:n]]

    return g.program(build, g.array(dtype, (n,) + inner, "plain"))


GENERATORS = {"BatchFunction": batch_function, "Batch": batch, "Unbatch": batch, "UnbatchGrad": batch}
