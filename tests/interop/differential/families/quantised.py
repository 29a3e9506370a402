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


GENERATORS = {f"FakeQuantWithMinMax{kind}{gradient}": fake_quant for kind in ("Args", "Vars", "VarsPerChannel") for gradient in ("", "Gradient")}
GENERATORS |= {f"QuantizeAndDequantize{version}": quantize_and_dequantize for version in ("", "V2", "V3", "V4", "V4Grad")}
