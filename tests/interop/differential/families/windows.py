"""Sliding windows over images: convolution, pooling; normalisation over channels, resizing."""

import numpy as np
import tensorflow as tf


def image(g, channels=None):
    return (g.int(1, 2), g.int(3, 7), g.int(3, 7), channels or g.int(1, 4))


def window(g, shape, explicit=True):
    """Filter size, strides and padding that fit an NHWC shape. TensorFlow's CPU kernels support no other format."""
    kh, kw = g.int(1, 3), g.int(1, 3)
    strides = [1, g.int(1, 3), g.int(1, 3), 1]
    attrs = {"strides": strides, "padding": g.pick(["SAME", "VALID"]), "data_format": "NHWC"}
    if explicit and g.coin(0.2):
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, g.int(0, 2), g.int(0, 2), g.int(0, 2), g.int(0, 2), 0, 0]}
    return kh, kw, attrs


def out_size(size, k, stride, attrs, at):
    """The size of the output along one dimension."""
    if attrs["padding"] == "SAME":
        return -(-size // stride)
    extra = sum(attrs["explicit_paddings"][at : at + 2]) if attrs["padding"] == "EXPLICIT" else 0
    return (size + extra - k) // stride + 1


def conv(g):
    depthwise, dtype = g.op.startswith("Depthwise"), g.t()
    shape = image(g)
    kh, kw, attrs = window(g, shape)
    out = g.int(1, 4)
    if depthwise:
        attrs["strides"][2] = attrs["strides"][1]
    if not depthwise and g.coin(0.2):
        attrs["dilations"] = [1, 2, 2, 1] if attrs["strides"] == [1, 1, 1, 1] and min(shape[1:3]) >= 5 else [1, 1, 1, 1]
    rate = attrs.get("dilations", [1] * 4)[1]
    filters = (kh, kw, shape[3], out)
    x, w = g.array(dtype, shape, "plain"), g.array(dtype, filters, "plain")
    eh, ew = (kh - 1) * rate + 1, (kw - 1) * rate + 1
    grads = (shape[0], out_size(shape[1], eh, attrs["strides"][1], attrs, 2), out_size(shape[2], ew, attrs["strides"][2], attrs, 4), shape[3] * out if depthwise else out)
    if g.op.endswith("BackpropInput"):
        return g.case(g.of(shape, tf.int32), w, g.array(dtype, grads, "plain"), judge="long_sum", **attrs)
    if g.op.endswith("BackpropFilter"):
        return g.case(x, g.of(filters, tf.int32), g.array(dtype, grads, "plain"), judge="long_sum", **attrs)
    return g.case(x, w, judge="long_sum", **attrs)


def pool(g):
    dtype, shape = g.t("T" if "T" in g.types else "Targmax"), image(g)
    kh, kw, attrs = window(g, shape, explicit=False)
    if "WithArgmax" in g.op:
        attrs.pop("data_format")
    size, strides = [1, kh, kw, 1], attrs.pop("strides")
    out = (shape[0], out_size(shape[1], kh, strides[1], attrs, 2), out_size(shape[2], kw, strides[2], attrs, 4), shape[3])
    x = g.array(dtype, shape, "plain")
    judge = "long_sum"
    if g.op == "AvgPoolGrad":
        return g.case(g.of(shape, tf.int32), g.array(dtype, out, "plain"), ksize=size, strides=strides, judge=judge, **attrs)
    second = g.op.endswith("V2")
    more = [g.of(size, tf.int32), g.of(strides, tf.int32)] if second else []
    if not second:
        attrs |= {"ksize": size, "strides": strides}
    if g.op == "MaxPoolGradWithArgmax":
        # Each output points at an input of its own image.
        area = shape[1] * shape[2] * shape[3]
        return g.case(x, g.array(dtype, out, "plain"), g.ints(0, area - 1, out, g.t("Targmax")), judge=judge, **attrs)
    if "Grad" in g.op:
        grad = shape if "GradGrad" in g.op else out
        largest = pooled_max(x, kh, kw, strides, attrs["padding"], out)
        return g.case(x, largest, g.array(dtype, grad, "plain"), *more, judge=judge, **attrs)
    if g.op == "MaxPoolWithArgmax":
        attrs |= {"include_batch_in_index": g.coin(), "Targmax": g.t("Targmax")}
    return g.case(x, *more, judge=judge if g.op == "AvgPool" else "exact", **attrs)


def pooled_max(x, kh, kw, strides, padding, out):
    """The pool's own output, which its gradient takes as an input."""
    top, left = 0, 0
    if padding == "SAME":
        top = max((out[1] - 1) * strides[1] + kh - x.shape[1], 0) // 2
        left = max((out[2] - 1) * strides[2] + kw - x.shape[2], 0) // 2
    y = np.empty(out, x.dtype)
    for i in range(out[1]):
        for j in range(out[2]):
            rows = slice(max(i * strides[1] - top, 0), i * strides[1] - top + kh)
            columns = slice(max(j * strides[2] - left, 0), j * strides[2] - left + kw)
            y[:, i, j] = x[:, rows, columns].max(axis=(1, 2))
    return y


def batch_norm(g):
    kinds = {a.name: g.types[a.type_attr] if a.type_attr else tf.as_dtype(a.type) for a in g.definition.input_arg}
    shape = image(g)
    train = g.coin()
    inputs = []
    for a in g.definition.input_arg:
        full = a.name in ("x", "y_backprop")
        if a.name in ("mean", "variance") and train:
            inputs.append(g.array(kinds[a.name], (0,), "plain"))
        elif a.name in ("variance", "reserve_space_2", "scale"):
            inputs.append(g.array(kinds[a.name], (shape[3],), "positive"))
        else:
            inputs.append(g.array(kinds[a.name], shape if full else (shape[3],), "plain"))
    attrs = {"epsilon": g.pick([1e-3, 0.1]), "data_format": "NHWC", "is_training": train}
    if train or "Grad" in g.op:
        return g.case(*inputs, judge="norm", **attrs)
    # The outputs reserved for the gradient are not set in inference.
    names = [a.name for a in g.definition.input_arg]
    return g.program(lambda t: getattr(tf.raw_ops, g.op)(**dict(zip(names, t)), **attrs)[:3], *inputs, judge="norm")


def norm(g):
    shape, dtype = image(g), g.t()
    attrs = {"depth_radius": g.int(0, 3), "bias": g.pick([1.0, 2.0]), "alpha": g.pick([1.0, 0.1]), "beta": g.pick([0.5, 0.75])}
    arrays = [g.array(dtype, shape, "plain") for _ in g.definition.input_arg]
    return g.case(*arrays, judge="norm", **attrs)


def resize(g):
    dtype, shape, size = g.t(), image(g), [g.int(1, 8), g.int(1, 8)]
    align = g.coin(0.4)
    attrs = {"align_corners": align, "half_pixel_centers": not align and g.coin()}
    judge = "norm"
    if g.op == "ResizeBilinearGrad":
        return g.case(g.array(tf.float32, (shape[0], *size, shape[3]), "plain"), g.array(dtype, shape, "plain"), judge=judge, **attrs)
    if g.op == "ResizeNearestNeighborGrad":
        return g.case(g.array(dtype, shape, "plain"), g.of(size, tf.int32), judge=judge, **attrs)
    return g.case(g.array(dtype, shape, "plain"), g.of(size, tf.int32), judge=judge, **attrs)


def png(g):
    channels = g.int(1, 4)
    dtype = g.pick([tf.uint8, tf.uint16])
    pixels = g.array(dtype, (g.int(1, 5), g.int(1, 5), channels), "wide")

    def build(t):
        # Encodings may be compressed differently: compare the decoded images.
        return [tf.raw_ops.DecodePng(contents=tf.raw_ops.EncodePng(image=t[0]), channels=g.pick([0, channels]), dtype=dtype)]

    return g.program(build, pixels)


GENERATORS = {op: conv for stem in ("Conv2D", "DepthwiseConv2dNative") for op in (stem, stem + "BackpropInput", stem + "BackpropFilter")}
GENERATORS |= {op: pool for op in "AvgPool AvgPoolGrad MaxPool MaxPoolV2 MaxPoolGrad MaxPoolGradV2 MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolWithArgmax MaxPoolGradWithArgmax".split()}
GENERATORS |= {f"FusedBatchNorm{grad}{v}": batch_norm for grad in ("", "Grad") for v in ("", "V2", "V3")} | {"LRN": norm, "LRNGrad": norm}
GENERATORS |= {op: resize for op in "ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad".split()}
GENERATORS |= {"EncodePng": png, "DecodePng": png}
