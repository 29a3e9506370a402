"""Quantised numbers: floats rounded to levels, and integers that stand for floats. The latter travel as plain integers."""

import numpy as np
import tensorflow as tf

raw = tf.raw_ops
STORED = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16, tf.qint32: tf.int32}


def bounds(g, shape=()):
    low, high = -g.rng.uniform(0.1, 4, shape), g.rng.uniform(0.1, 4, shape)
    if g.coin(0.15):
        low = np.abs(low) * 0.01
    return low, high


def fake_quant(g):
    attrs = {"num_bits": g.pick([8, 2, 4, 16]), "narrow_range": g.coin(0.3)}
    shape = g.shape(1, 3, zeros=False)
    values = [g.array(tf.float32, shape, "plain") for _ in range(2 if "Gradient" in g.op else 1)]
    channels = shape[-1:] if "PerChannel" in g.op else ()
    low, high = bounds(g, channels)
    judge = "sum" if "VarsGradient" in g.op or "ChannelGradient" in g.op else "close"
    if "Args" in g.op:
        return g.case(*values, min=float(low), max=float(high), judge=judge, **attrs)
    return g.case(*values, g.of(low, tf.float32), g.of(high, tf.float32), judge=judge, **attrs)


def quantize_and_dequantize(g):
    if g.op == "QuantizeAndDequantize":
        low, high = bounds(g)
        return g.case(g.array(g.t(), g.shape(zeros=False), "plain"), signed_input=g.coin(), num_bits=g.pick([8, 4]), range_given=g.coin(), input_min=float(low), input_max=float(high), judge="close")
    shape = g.shape(1, 3, zeros=False)
    axis = g.int(-1, len(shape) - 1)
    low, high = bounds(g, () if axis < 0 else (shape[axis],))
    inputs = [g.array(g.t(), shape, "plain"), g.of(low, g.t()), g.of(high, g.t())]
    attrs = {"axis": axis}
    if g.op == "QuantizeAndDequantizeV4Grad":
        return g.case(g.array(g.t(), shape, "plain"), *inputs, judge="exact", **attrs)
    # Of version 3 alone TensorFlow 2.21 takes the ranges of an axis, though all document them.
    given = g.coin() and (axis < 0 or g.op == "QuantizeAndDequantizeV3")
    attrs |= {"signed_input": g.coin(), "range_given": given, "narrow_range": g.coin(0.3)}
    if g.op == "QuantizeAndDequantizeV3":
        inputs.append(g.of(g.pick([8, 4]), tf.int32))
    else:
        attrs |= {"num_bits": g.pick([8, 4, 12]), "round_mode": g.pick(["HALF_TO_EVEN", "HALF_UP"])}
    return g.case(*inputs, judge="close", **attrs)


def stored(g, t, shape, low=None, high=None):
    """Random integers of a quantised type."""
    plain = STORED[t]
    low, high = plain.min if low is None else low, plain.max if high is None else high
    return g.rng.integers(low, high + 1, shape).astype(plain.as_numpy_dtype)


def call(g, inputs, quantised, judge="close", **attrs):
    """The op on inputs of which some, by name, have a quantised type; outputs as plain integers."""
    names = [a.name for a in g.definition.input_arg]

    def build(tensors):
        args = {n: tf.bitcast(t, quantised[n]) if n in quantised else t for n, t in zip(names, tensors)}
        outputs = tf.nest.flatten(getattr(raw, g.op)(**args, **attrs))
        return [tf.bitcast(o, STORED[o.dtype]) if o.dtype in STORED else o for o in outputs]

    return g.program(build, *inputs, judge=judge, label=str(attrs))


def range_of(g, shape=()):
    low, high = bounds(g, shape)
    return [g.of(np.minimum(low, high), tf.float32), g.of(np.maximum(low, high), tf.float32)]


def quantize(g):
    mode, shape = g.pick(["MIN_COMBINED", "MIN_FIRST", "SCALED"]), g.shape(1, 3, zeros=False)
    axis = -1 if mode == "MIN_FIRST" else g.int(-1, len(shape) - 1)
    t = g.pick(list(STORED))
    ranges, attrs = range_of(g, () if axis < 0 else (shape[axis],)), {"mode": mode, "axis": axis, "narrow_range": g.coin(0.3)}
    if g.op == "Dequantize":
        dtype = tf.float32 if mode != "MIN_COMBINED" or g.coin() else tf.bfloat16
        return call(g, [stored(g, t, shape), *ranges], {"input": t}, dtype=dtype, **attrs)
    if mode == "SCALED":
        attrs["round_mode"] = g.pick(["HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO"])
    return call(g, [g.array(tf.float32, shape, "plain"), *ranges], {}, T=t, ensure_minimum_range=g.pick([0.01, 0.5]), **attrs)


def sums(g, shape):
    """32-bit integers, few of which use the whole range."""
    reach = g.pick([1000, 10**6, 2**31 - 1])
    return stored(g, tf.qint32, shape, -reach if g.coin(0.8) else 0, reach)


def requantize(g):
    shape, reach = g.shape(1, 3, zeros=False), g.pick([1.0, 1e3, 1e6])
    low, high = range_of(g)
    inputs = [sums(g, shape), low * np.float32(reach), high * np.float32(reach)]
    types = {"input": tf.qint32}
    if g.op == "Requantize":
        low, high = range_of(g)
        return call(g, [*inputs, np.minimum(low, np.float32(0)), high], types, out_type=g.pick([tf.qint8, tf.quint8]))
    return call(g, inputs, types, **({"out_type": tf.quint8} if g.op == "QuantizeDownAndShrinkRange" else {}))


def per_channel(g):
    depth = g.int(1, 4)
    low, high = range_of(g, (depth,))
    inputs = [sums(g, (g.int(1, 2), g.int(1, 3), 2, depth)), low, high]
    if g.op == "RequantizationRangePerChannel":
        return call(g, inputs, {"input": tf.qint32}, clip_value_max=g.pick([0.1, 1e6]))
    low, high = range_of(g)
    return call(g, [*inputs, -np.abs(low), high], {"input": tf.qint32}, out_type=g.pick([tf.qint8, tf.quint8]))


def relu(g):
    t = g.pick([tf.quint8, tf.qint32])
    return call(g, [stored(g, t, g.shape(1, 3)), *(np.float32(3) * b for b in range_of(g))], {"features": t}, out_type=t)


def pool(g):
    t = g.pick([tf.quint8, tf.qint8])
    images = stored(g, t, (g.int(1, 2), g.int(3, 6), g.int(3, 6), g.int(1, 5)))
    ksize, strides = [1, g.int(1, 3), g.int(1, 3), 1], [1, g.int(1, 2), g.int(1, 2), 1]
    return call(g, [images, *range_of(g)], {"input": t}, ksize=ksize, strides=strides, padding=g.pick(["SAME", "VALID"]))


def product(g):
    t = tf.quint8
    if g.op == "QuantizedMul":
        a, b = g.pick([((2, 3), (2, 3)), ((4, 3), (3,)), ((3,), (2, 3)), ((5,), ()), ((), (4,))])
        names, attrs = ("x", "y"), {}
    else:
        m, k, n = (g.int(1, 6) for _ in range(3))
        attrs, names = {"transpose_a": g.coin(), "transpose_b": g.coin()}, ("a", "b")
        a, b = (k, m) if attrs["transpose_a"] else (m, k), (n, k) if attrs["transpose_b"] else (k, n)
    return call(g, [stored(g, t, a), stored(g, t, b), *range_of(g), *range_of(g)], dict.fromkeys(names, t), Toutput=tf.qint32, **attrs)



GENERATORS = {f"FakeQuantWithMinMax{kind}{gradient}": fake_quant for kind in ("Args", "Vars", "VarsPerChannel") for gradient in ("", "Gradient")}
GENERATORS |= {f"QuantizeAndDequantize{version}": quantize_and_dequantize for version in ("", "V2", "V3", "V4", "V4Grad")}
GENERATORS |= {op: quantize for op in ("QuantizeV2", "Dequantize")}
GENERATORS |= {op: requantize for op in ("QuantizeDownAndShrinkRange", "RequantizationRange", "Requantize")}
GENERATORS |= {op: per_channel for op in ("RequantizationRangePerChannel", "RequantizePerChannel")}
GENERATORS |= {op: relu for op in ("QuantizedRelu", "QuantizedRelu6")}
GENERATORS |= {op: pool for op in ("QuantizedMaxPool", "QuantizedAvgPool")}
GENERATORS |= {op: product for op in ("QuantizedMatMul", "QuantizedMul")}
