"""Accumulators of gradients: small programs, in order by control dependencies."""

import tensorflow as tf

from .containers import after

raw = tf.raw_ops
FLOATS = [tf.float32, tf.float64, tf.float16]


class Accumulator:
    """An accumulator of one of the three kinds, used step by step."""

    def __init__(self, g, kind, dtype, shape):
        self.dtype, self.last = dtype, []
        self.head = "Resource" if kind.startswith("Resource") else ""
        self.handle = getattr(raw, kind)(dtype=dtype, shape=shape, shared_name=g.name(), reduction_type=g.pick(["MEAN", "SUM"]))

    def do(self, name, **kwargs):
        out = after(self.last, lambda: getattr(raw, name)(handle=self.handle, **kwargs))
        first = out[0] if isinstance(out, (list, tuple)) else out
        self.last = [first if isinstance(first, tf.Operation) else first.op]
        return list(out) if isinstance(out, (list, tuple)) else [out]


def dense(g):
    """Set the step, add gradients of several steps, some of them stale, count them, take, and count again."""
    kind = g.op if g.op.endswith("ConditionalAccumulator") else ("Resource" if g.op.startswith("Resource") else "") + "ConditionalAccumulator"
    dtype, shape = g.types.get("dtype") if g.types.get("dtype") in FLOATS else g.pick(FLOATS), g.shape(0, 3)
    known = g.pick([list(shape), [None] * len(shape), None])
    steps = [g.int(0, 3) for _ in range(g.int(1, 5))]
    now, bad = g.int(0, 2), g.coin(0.15)
    gradients = [g.array(dtype, shape, "plain") for _ in steps]
    if bad:
        gradients[-1] = g.array(dtype, shape + (2,), "plain")
    counted = sum(s >= now for s in steps)
    required = g.pick([0, -1]) if g.coin(0.1) else g.int(1, max(counted, 1))

    def build(t):
        a = Accumulator(g, kind, dtype, known)
        a.do(a.head + "AccumulatorSetGlobalStep", new_global_step=tf.constant(now, tf.int64))
        for step, gradient in zip(steps, t):
            a.do(a.head + "AccumulatorApplyGradient", local_step=tf.constant(step, tf.int64), gradient=gradient)
        out = a.do(a.head + "AccumulatorNumAccumulated")
        if counted or required <= 0:
            out += a.do(a.head + "AccumulatorTakeGradient", num_required=required, dtype=dtype)
        # Taking has incremented the step: the first of these two is stale.
        for step in (now, now + 1):
            a.do(a.head + "AccumulatorApplyGradient", local_step=tf.constant(step, tf.int64), gradient=t[0])
        return out + a.do(a.head + "AccumulatorNumAccumulated")

    return g.program(build, *gradients, judge="close", label=f"{dtype.name} {known} steps {steps} at {now}, needs {required}")


def sparse(g):
    """As `dense`, with rows that the gradients share or not."""
    dtype, columns, rows = g.pick(FLOATS), g.shape(0, 2), 6
    shape = g.pick([None, [rows, *columns], [None] * (1 + len(columns)), []])
    known = g.coin()
    inputs = []
    for _ in range(g.int(1, 4)):
        picked = sorted(g.rng.permutation(rows)[: g.int(1, 4)])
        if g.coin(0.08):
            picked[-1] = rows + 3
        inputs += [g.of(picked, tf.int64), g.array(dtype, (len(picked), *columns), "plain")]
    if g.coin(0.1):
        inputs[-1] = g.array(dtype, inputs[-1].shape + (2,), "plain")

    def build(t):
        a = Accumulator(g, "SparseConditionalAccumulator", dtype, shape)
        whole = tf.constant([rows, *columns], tf.int64) if known else tf.constant([], tf.int64)
        for i in range(0, len(t), 2):
            a.do("SparseAccumulatorApplyGradient", local_step=tf.constant(0, tf.int64), gradient_indices=t[i], gradient_values=t[i + 1], gradient_shape=whole, has_known_shape=known)
        out = a.do("AccumulatorNumAccumulated")
        return out + a.do("SparseAccumulatorTakeGradient", num_required=len(t) // 2, dtype=dtype)

    return g.program(build, *inputs, judge="close", label=f"{dtype.name} {shape} {'known' if known else 'unknown'}")


WHAT = "ApplyGradient TakeGradient SetGlobalStep NumAccumulated".split()
GENERATORS = {f"{kind}Accumulator{what}": dense for kind in ("", "Resource") for what in WHAT}
GENERATORS |= {"ConditionalAccumulator": dense, "ResourceConditionalAccumulator": dense}
GENERATORS |= {op: sparse for op in ("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient")}
