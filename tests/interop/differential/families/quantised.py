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
    if g.op in ("QuantizedAdd", "QuantizedMul"):
        a, b = g.pick([((2, 3), (2, 3)), ((4, 3), (3,)), ((3,), (2, 3)), ((5,), ()), ((), (4,))])
        names, attrs = ("x", "y"), {}
    else:
        m, k, n = (g.int(1, 6) for _ in range(3))
        attrs, names = {"transpose_a": g.coin(), "transpose_b": g.coin()}, ("a", "b")
        a, b = (k, m) if attrs["transpose_a"] else (m, k), (n, k) if attrs["transpose_b"] else (k, n)
    return call(g, [stored(g, t, a), stored(g, t, b), *range_of(g), *range_of(g)], dict.fromkeys(names, t), Toutput=tf.qint32, **attrs)


def fused(g):
    """A convolution or product of bytes, in any of oneDNN's forms: which inputs it has, its definition says."""
    names, attrs = [a.name for a in g.definition.input_arg], {a.name for a in g.definition.attr}
    # Without oneDNN there is a kernel for unsigned filters only.
    second = tf.quint8 if g.op == "QuantizedConv2D" else tf.qint8
    types = {names[0]: tf.quint8, names[1]: second}
    if "MatMul" in g.op:
        rows, depth, outputs = g.int(1, 4), g.int(1, 9), g.int(1, 5)
        shapes, more = [(rows, depth), (depth, outputs)], {"input_quant_mode": g.pick(["MIN_FIRST", "SCALED"])}
    else:
        depth, last, stride = g.int(1, 3), g.int(1, 4), g.int(1, 2)
        outputs = depth * last if "Depthwise" in g.op else last
        shapes = [(g.int(1, 2), g.int(3, 6), g.int(3, 6), depth), (g.int(1, 3), g.int(1, 3), depth, last)]
        more = {"strides": [1, stride, stride, 1], "padding": g.pick(["SAME", "VALID"])}
    inputs = [stored(g, types[name], shape) for name, shape in zip(names, shapes)]
    per_channel = (outputs,) if "PerChannel" in g.op else ()
    for name in names[2:]:
        if name == "bias" and "Tbias" in attrs and g.coin():
            inputs.append(stored(g, tf.qint32, outputs, -5000, 5000))
            types[name] = tf.qint32
        elif name == "bias":
            inputs.append(g.array(tf.float32, (outputs,), "plain"))
        elif name.startswith("min_"):
            inputs += range_of(g, per_channel if name == "min_filter" else ())
    result = tf.float32 if "Dequantize" in g.op else tf.qint32
    if "Requantize" in g.op:
        result = tf.quint8 if "Relu" in g.op or "MatMul" in g.op else tf.qint8
    more["Toutput" if "MatMul" in g.op else "out_type"] = result
    return call(g, inputs, types, **more)


def bias_add(g):
    t, shape = g.pick([tf.quint8, tf.qint8]), g.shape(2, 4, zeros=False)
    return call(g, [stored(g, t, shape), stored(g, t, shape[-1:]), *range_of(g), *range_of(g)], {"input": t, "bias": t}, out_type=tf.qint32)


def concat(g):
    t, shape, n = g.pick([tf.quint8, tf.qint32]), list(g.shape(1, 3, zeros=False)), g.int(2, 4)
    axis = g.int(0, len(shape) - 1)
    values = [stored(g, t, (*shape[:axis], g.int(1, 4), *shape[axis + 1 :])) for _ in range(n)]
    ranges = [range_of(g) for _ in range(n)]
    if g.coin(0.3):
        ranges = ranges[:1] * n

    def build(tensors):
        values = [tf.bitcast(v, t) for v in tensors[:n]]
        output, *bounds = raw.QuantizedConcat(concat_dim=axis, values=values, input_mins=tensors[n : 2 * n], input_maxes=tensors[2 * n :])
        return [tf.bitcast(output, STORED[t]), *bounds]

    return g.program(build, *values, *(low for low, _ in ranges), *(high for _, high in ranges), judge="close", label=f"{t.name} along {axis}")


def reshape(g):
    t = g.pick([tf.quint8, tf.qint32])
    shape = g.pick([(6,), (2, -1), (3, 2), (-1,), (1, 6, 1)])
    return call(g, [stored(g, t, (2, 3)), g.of(shape, tf.int32), *range_of(g)], {"tensor": t})


def resize(g):
    t = g.pick([tf.quint8, tf.qint32, tf.float32])
    shape = (g.int(1, 2), g.int(1, 5), g.int(1, 5), g.int(1, 4))
    images, types = (g.array(t, shape, "plain"), {}) if t == tf.float32 else (stored(g, t, shape), {"images": t})
    mapping = g.pick([{}, {"align_corners": True}, {"half_pixel_centers": True}])
    return call(g, [images, g.of((g.int(1, 9), g.int(1, 9)), tf.int32), *range_of(g)], types, **mapping)


def instance_norm(g):
    given = {"output_range_given": True, "given_y_min": -2.0, "given_y_max": 1.5} if g.coin(0.3) else {}
    images = stored(g, tf.quint8, (g.int(1, 2), g.int(2, 5), g.int(1, 5), g.int(1, 9)))
    return call(g, [images, *range_of(g)], {"x": tf.quint8}, judge="close", variance_epsilon=g.pick([1e-5, 0.1]), **given)


def batch_norm(g):
    # TensorFlow refuses a single channel.
    depth, inputs = g.int(2, 5), []
    for name in ("t", "m", "v", "beta", "gamma"):
        low, high = range_of(g)
        shape = (g.int(1, 2), g.int(1, 3), g.int(1, 3), depth) if name == "t" else (depth,)
        inputs += [stored(g, tf.quint8, shape), np.abs(low) if name == "v" else low, high + np.float32(4)]
    types = dict.fromkeys(("t", "m", "v", "beta", "gamma"), tf.quint8)
    return call(g, inputs, types, out_type=tf.qint32, variance_epsilon=0.01, scale_after_normalization=g.coin())


def affine(g, shape=()):
    """Scales and zero points."""
    return [g.of(g.rng.uniform(0.05, 0.5, shape), tf.float32), g.of(g.rng.integers(-9, 10, shape), tf.int32)]


def within(prefix, t):
    low, high = (STORED[t].min, STORED[t].max) if t in STORED else (-128, 127)
    return {f"{prefix}quantization_min_val": int(low), f"{prefix}quantization_max_val": int(high)}


def uniform(g):
    """Elementwise, by scales and zero points for all elements or along an axis."""
    t, shape = g.pick([tf.qint8, tf.quint8, tf.qint32]), g.shape(1, 3, zeros=False)
    axis = g.int(-1, len(shape) - 1)
    along = () if axis < 0 else (shape[axis],)
    attrs = {"quantization_axis": axis, **within("", t)}
    if g.op == "UniformQuantize":
        return call(g, [g.array(tf.float32, shape, "plain"), *affine(g, along)], {}, Tout=t, **attrs)
    if g.op == "UniformDequantize":
        return call(g, [stored(g, t, shape), *affine(g, along)], {"input": t}, Tout=tf.float32, **attrs)
    if g.op == "UniformQuantizedClipByValue":
        inputs = [sums(g, shape), stored(g, tf.qint32, along, -900, 0), stored(g, tf.qint32, along, 0, 900), *affine(g, along)]
        return call(g, inputs, dict.fromkeys(("operand", "min", "max"), tf.qint32), quantization_axis=axis, **within("", tf.qint32))
    t = g.pick([tf.qint8, tf.qint32])
    own = g.pick([axis, -1])
    inputs = [stored(g, t, shape, *((-2000, 2000) if t == tf.qint32 else ())), *affine(g, along), *affine(g, along if own >= 0 else ())]
    attrs = {"input_quantization_axis": axis, "output_quantization_axis": own, **within("input_", t), **within("output_", tf.qint8)}
    return call(g, inputs, {"input": t}, Tout=tf.qint8, **attrs)


def uniform_add(g):
    t, shape = tf.qint32, g.shape(1, 3, zeros=False)
    axis = g.int(-1, len(shape) - 1)
    along = () if axis < 0 else (shape[axis],)
    other = shape if axis >= 0 else g.pick([shape, shape[-1:], (1,) * len(shape)])
    inputs = [stored(g, t, s, -90000, 90000) for s in (shape, other)]
    attrs = {}
    for prefix in ("lhs_", "rhs_", "output_"):
        attrs |= {f"{prefix}quantization_axis": axis, **within(prefix, t)}
        inputs += affine(g, along)
    return call(g, inputs, {"lhs": t, "rhs": t}, **attrs)


def uniform_product(g):
    hybrid, channels = "Hybrid" in g.op, g.int(1, 4)
    if "Dot" in g.op:
        rows, depth, axis, out_axis = g.int(1, 4), g.int(1, 6), 1, 1
        shapes, attrs = [(rows, depth), (depth, channels)], {}
    else:
        shapes, attrs, axis, out_axis, channels = convolution(g)
    per_channel = g.coin()
    attrs |= {"rhs_quantization_axis": axis if per_channel else -1, **within("rhs_", tf.qint8)}
    along = (channels,) if per_channel else ()
    lhs = g.array(tf.float32, shapes[0], "plain") if hybrid else stored(g, tf.qint8, shapes[0])
    inputs, types = [lhs, stored(g, tf.qint8, shapes[1])], {"rhs": tf.qint8} | ({} if hybrid else {"lhs": tf.qint8})
    if hybrid:
        return call(g, [*inputs, *affine(g, along)], types, Tout=tf.float32, **attrs)
    inputs += [*affine(g), *affine(g, along)]
    own = per_channel and g.coin()
    inputs += affine(g, along if own else ())
    attrs |= {**within("lhs_", tf.qint8), **within("output_", tf.qint32), "output_quantization_axis": out_axis if own else -1}
    return call(g, inputs, types, Tout=tf.qint32, **attrs)


def convolution(g):
    """Shapes, attrs, the axes of the filter's and the result's channels, and how many these are."""
    space, groups, kind = g.int(1, 3), g.int(1, 2), g.pick(["", "batch", "feature"])
    groups = groups if kind else 1
    batch, depth, outputs = g.int(1, 2), g.int(1, 3), g.int(1, 3) * groups
    sizes, windows = [g.int(3, 5) for _ in range(space)], [g.int(1, 3) for _ in range(space)]
    attrs = {f"{name}_group_count": groups for name in [kind] if name} | {"padding": g.pick(["SAME", "VALID", "EXPLICIT"])}
    attrs["window_strides"] = g.pick([[], [g.int(1, 2) for _ in range(space)]])
    attrs["lhs_dilation"] = g.pick([[], [g.int(1, 2) for _ in range(space)]])
    attrs["rhs_dilation"] = g.pick([[], [1] * space])
    if attrs["padding"] == "EXPLICIT":
        attrs["explicit_padding"] = [g.int(0, 2) for _ in range(2 * space)]
    lhs = [batch * (groups if kind == "batch" else 1), depth * (groups if kind == "feature" else 1), *sizes]
    rhs = [outputs, depth, *windows]
    if g.coin(0.4):
        # Channels last: input and output b0..f, filter 0..io.
        numbers = dimension_numbers(space)
        lhs, rhs = [lhs[0], *lhs[2:], lhs[1]], [*rhs[2:], rhs[1], rhs[0]]
        return [tuple(lhs), tuple(rhs)], attrs | {"dimension_numbers": numbers}, space + 1, space + 1, outputs
    return [tuple(lhs), tuple(rhs)], attrs, 0, 1, outputs


def dimension_numbers(space):
    """The message, in bytes: each field's tag and number."""
    inside, kernel = bytes(range(1, space + 1)), bytes(range(space))
    fields = {1: 0, 2: space + 1, 3: inside, 4: space, 5: space + 1, 6: kernel, 7: 0, 8: space + 1, 9: inside}
    packed = lambda tag, v: bytes([tag << 3 | 2, len(v)]) + v if isinstance(v, bytes) else bytes([tag << 3, v])
    return b"".join(packed(tag, value) for tag, value in fields.items())


FUSED = ["QuantizedConv2D", "QuantizedConv2DPerChannel", "QuantizedConv2DAndRelu", "QuantizedConv2DAndRequantize"]
FUSED += ["QuantizedConv2DAndReluAndRequantize", "QuantizedDepthwiseConv2D"]
FUSED += [f"QuantizedConv2DWithBias{rest}" for rest in ("", "AndRelu", "AndRequantize", "AndReluAndRequantize")]
FUSED += [f"QuantizedDepthwiseConv2DWithBias{rest}" for rest in ("", "AndRelu", "AndReluAndRequantize")]
FUSED += [f"QuantizedMatMulWithBias{rest}" for rest in ("", "AndDequantize", "AndRelu", "AndReluAndRequantize", "AndRequantize")]

GENERATORS = {f"FakeQuantWithMinMax{kind}{gradient}": fake_quant for kind in ("Args", "Vars", "VarsPerChannel") for gradient in ("", "Gradient")}
GENERATORS |= {f"QuantizeAndDequantize{version}": quantize_and_dequantize for version in ("", "V2", "V3", "V4", "V4Grad")}
GENERATORS |= {op: quantize for op in ("QuantizeV2", "Dequantize")}
GENERATORS |= {op: requantize for op in ("QuantizeDownAndShrinkRange", "RequantizationRange", "Requantize")}
GENERATORS |= {op: per_channel for op in ("RequantizationRangePerChannel", "RequantizePerChannel")}
GENERATORS |= {op: relu for op in ("QuantizedRelu", "QuantizedRelu6")}
GENERATORS |= {op: pool for op in ("QuantizedMaxPool", "QuantizedAvgPool")}
GENERATORS |= {op: product for op in ("QuantizedMatMul", "QuantizedMul", "QuantizedAdd")}
GENERATORS |= dict.fromkeys(FUSED, fused)
GENERATORS |= {"QuantizedBiasAdd": bias_add, "QuantizedConcat": concat, "QuantizedReshape": reshape, "QuantizedResizeBilinear": resize}
GENERATORS |= {"QuantizedInstanceNorm": instance_norm, "QuantizedBatchNormWithGlobalNormalization": batch_norm}
GENERATORS |= {op: uniform for op in ("UniformQuantize", "UniformDequantize", "UniformRequantize", "UniformQuantizedClipByValue")}
GENERATORS |= {"UniformQuantizedAdd": uniform_add}
GENERATORS |= {f"UniformQuantized{kind}{hybrid}": uniform_product for kind in ("Dot", "Convolution") for hybrid in ("", "Hybrid")}
