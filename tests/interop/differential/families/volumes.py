"""Sliding windows over volumes, and other windows: dilation, fractional pooling, padded convolution."""

import numpy as np
import tensorflow as tf

from .windows import out_size


def volume(g, channels=None):
    return (g.int(1, 2), g.int(2, 4), g.int(2, 5), g.int(2, 4), channels or g.int(1, 3))


def window(g, shape):
    """Window size, strides and padding that fit an NDHWC shape. Other formats and dilations need oneDNN."""
    size = [g.int(1, min(3, n)) for n in shape[1:4]]
    return size, {"strides": [1, g.int(1, 2), g.int(1, 3), g.int(1, 2), 1], "padding": g.pick(["SAME", "VALID"])}


def result(shape, size, attrs, channels):
    strides = attrs["strides"]
    return (shape[0], *(out_size(shape[i + 1], size[i], strides[i + 1], attrs, 0) for i in range(3)), channels)


def conv3d(g):
    dtype, shape = g.t(), volume(g)
    size, attrs = window(g, shape)
    filters = (*size, shape[4], g.int(1, 4))
    x, w = g.array(dtype, shape, "plain"), g.array(dtype, filters, "plain")
    grads = g.array(dtype, result(shape, size, attrs, filters[4]), "plain")
    judge = "long_sum"
    if g.op == "Conv3D":
        return g.case(x, w, judge=judge, data_format="NDHWC", **attrs)
    if g.op.endswith("V2"):
        attrs["data_format"] = "NDHWC"
        if "Input" in g.op:
            return g.case(g.of(shape, g.t("Tshape")), w, grads, judge=judge, **attrs)
        return g.case(x, g.of(filters, tf.int32), grads, judge=judge, **attrs)
    return g.case(x, w, grads, judge=judge, **attrs)


def conv(g):
    """Two or three dimensions, with none to three of the batch."""
    dtype, space, batch = g.t(), g.int(2, 3), g.int(0, 3)
    sizes = [g.int(2, 5) for _ in range(space)]
    channels, kernel = g.int(1, 3), [g.int(1, 2) for _ in range(space)]
    shape = (*[g.int(1, 2) for _ in range(batch)], *sizes, channels)
    attrs = {"strides": [1, *[g.int(1, 2) for _ in range(space)], 1], "padding": g.pick(["SAME", "VALID"]), "batch_dims": batch}
    if space == 2 and g.coin(0.3):
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *[g.int(0, 2) for _ in range(4)], 0, 0]}
    return g.case(g.array(dtype, shape, "plain"), g.array(dtype, (*kernel, channels, g.int(1, 3)), "plain"), judge="long_sum", **attrs)


def pool3d(g):
    dtype, shape = g.t(), volume(g)
    size, attrs = window(g, shape)
    attrs |= {"ksize": [1, *size, 1], "data_format": "NDHWC"}
    out, x = result(shape, size, attrs, shape[4]), g.array(dtype, shape, "plain")
    judge = "long_sum"
    if g.op == "AvgPool3DGrad":
        return g.case(g.of(shape, tf.int32), g.array(dtype, out, "plain"), judge=judge, **attrs)
    if "Grad" in g.op:
        grad = shape if "GradGrad" in g.op else out
        return g.case(x, pooled(x, size, attrs, out), g.array(dtype, grad, "plain"), judge=judge, **attrs)
    return g.case(x, judge=judge if g.op == "AvgPool3D" else "exact", **attrs)


def pooled(x, size, attrs, out):
    """The pool's own output, which its gradient takes as an input."""
    strides, y = attrs["strides"][1:4], np.empty(out, x.dtype)
    before = [max((out[i + 1] - 1) * strides[i] + size[i] - x.shape[i + 1], 0) // 2 if attrs["padding"] == "SAME" else 0 for i in range(3)]
    for at in np.ndindex(*out[1:4]):
        part = tuple(slice(max(a * s - b, 0), a * s - b + k) for a, s, b, k in zip(at, strides, before, size))
        y[(slice(None), *at)] = x[(slice(None), *part)].max(axis=(1, 2, 3))
    return y


def volume_patches(g):
    dtype, shape = g.t(), volume(g)
    size, attrs = window(g, shape)
    return g.case(g.array(dtype, shape), ksizes=[1, *size, 1], **attrs)


def fractional(g):
    dtype = g.t()
    shape = (g.int(1, 2), g.int(3, 9), g.int(3, 9), g.int(1, 3))
    attrs = {"pooling_ratio": [1.0, g.pick([1.0, 1.44, 1.73, 2.0]), g.pick([1.2, 1.5, 2.7]), 1.0], "pseudo_random": g.coin(), "overlapping": g.coin(), "deterministic": True, "seed": g.int(1, 999), "seed2": g.int(1, 999)}
    return g.case(g.array(dtype, shape, "plain"), judge="long_sum", **attrs)


def sequence(g, size):
    """Cells of one to three positions."""
    cells = []
    while sum(cells) < size:
        cells.append(min(g.int(1, 3), size - sum(cells)))
    return np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)


def fractional_grad(g):
    dtype, overlapping = g.t(), g.coin()
    shape = (g.int(1, 2), g.int(2, 7), g.int(2, 7), g.int(1, 3))
    rows, columns = sequence(g, shape[1]), sequence(g, shape[2])
    out = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    grad = g.array(dtype, out, "plain")
    if g.op == "FractionalAvgPoolGrad":
        return g.case(g.of(shape, tf.int64), grad, rows, columns, overlapping=overlapping, judge="long_sum")
    x, y = g.array(dtype, shape, "plain"), np.empty(out, dtype.as_numpy_dtype)
    for i in range(out[1]):
        for j in range(out[2]):
            y[:, i, j] = x[:, rows[i] : rows[i + 1] + overlapping, columns[j] : columns[j + 1] + overlapping].max(axis=(1, 2))
    return g.case(x, y, grad, rows, columns, overlapping=overlapping, judge="long_sum")


def dilation(g):
    dtype = g.t()
    shape = (g.int(1, 2), g.int(3, 6), g.int(3, 6), g.int(1, 3))
    size, rates = (g.int(1, 3), g.int(1, 2)), (1, g.int(1, 2))
    attrs = {"strides": [1, g.int(1, 2), g.int(1, 2), 1], "rates": [1, *rates, 1], "padding": g.pick(["SAME", "VALID"])}
    reach = [(k - 1) * r + 1 for k, r in zip(size, rates)]
    out = (shape[0], *(out_size(shape[i + 1], reach[i], attrs["strides"][i + 1], attrs, 0) for i in range(2)), shape[3])
    x, w = g.array(dtype, shape, "plain"), g.array(dtype, (*size, shape[3]), "plain")
    if g.op == "Dilation2D":
        return g.case(x, w, **attrs)
    return g.case(x, w, g.array(dtype, out, "plain"), judge="long_sum", **attrs)


def padded_conv(g):
    # One image: TensorFlow's result for the second is wrong, if nothing is padded too.
    dtype = g.t()
    shape = (1, g.int(3, 5), g.int(3, 5), g.int(1, 3))
    paddings = [[0, 0], [g.int(0, 2), g.int(0, 2)], [g.int(0, 2), g.int(0, 2)], [0, 0]]
    attrs = {"mode": g.pick(["REFLECT", "SYMMETRIC"]), "strides": [1, *[g.int(1, 2)] * 2, 1], "padding": g.pick(["SAME", "VALID"])}
    inputs = [g.array(dtype, shape, "plain"), g.of(paddings, tf.int32), g.array(dtype, (g.int(1, 2), g.int(1, 3), shape[3], g.int(1, 3)), "plain")]
    if g.op == "FusedResizeAndPadConv2D":
        inputs.insert(1, g.of([g.int(3, 7), g.int(3, 7)], tf.int32))
        attrs["resize_align_corners"] = g.coin()
    return g.case(*inputs, judge="norm", **attrs)


def global_norm(g):
    """TensorFlow has this for GraphDefs before version 9 only."""
    dtype, depth = g.t(), g.int(1, 3)
    shape = (g.int(1, 2), g.int(1, 3), g.int(1, 3), depth)
    arrays = [g.array(dtype, shape if a.name in ("t", "backprop") else (depth,), "positive" if a.name == "v" else "plain") for a in g.definition.input_arg]
    return g.case(*arrays, judge="norm", variance_epsilon=0.1, scale_after_normalization=g.coin())


GENERATORS = {op: conv3d for op in "Conv3D Conv3DBackpropInput Conv3DBackpropInputV2 Conv3DBackpropFilter Conv3DBackpropFilterV2".split()} | {"Conv": conv}
GENERATORS |= {op: pool3d for op in "AvgPool3D AvgPool3DGrad MaxPool3D MaxPool3DGrad MaxPool3DGradGrad".split()} | {"ExtractVolumePatches": volume_patches}
GENERATORS |= {f"Fractional{kind}Pool": fractional for kind in ("Avg", "Max")} | {f"Fractional{kind}PoolGrad": fractional_grad for kind in ("Avg", "Max")}
GENERATORS |= {op: dilation for op in "Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter".split()}
GENERATORS |= {op: padded_conv for op in "FusedPadConv2D FusedResizeAndPadConv2D".split()}
GENERATORS |= {f"BatchNormWithGlobalNormalization{grad}": global_norm for grad in ("", "Grad")}
