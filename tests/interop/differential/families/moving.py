"""Ops that move elements: shapes, padding, splits, transposition, blocks. Compared exactly."""

import numpy as np
import tensorflow as tf


def transpose(g):
    if g.op == "ConjugateTranspose":
        g.restrict(T=lambda t: t != tf.string)  # strings crash TensorFlow's process
    shape = g.shape()
    return g.case(g.array(g.t(), shape), g.of(g.rng.permutation(len(shape)), g.t("Tperm")))


def reshape(g):
    shape = g.shape()
    size, target = int(np.prod(shape)), list(g.rng.permutation(shape).astype(int))
    if g.coin(0.4):
        target = [size]
    elif g.coin(0.3):
        target = target + [1]
    if target and size and g.coin(0.4):
        target[g.int(0, len(target) - 1)] = -1
    return g.case(g.array(g.t(), shape), g.of(target, g.t("Tshape")))


def expand_dims(g):
    shape = g.shape(0, 3)
    return g.case(g.array(g.t(), shape), g.of(g.int(-len(shape) - 1, len(shape)), g.t("Tdim")))


def squeeze(g):
    shape = tuple(1 if g.coin(0.4) else d for d in g.shape())
    ones = [i - (len(shape) if g.coin(0.3) else 0) for i, d in enumerate(shape) if d == 1 and g.coin(0.7)]
    return g.case(g.array(g.t(), shape), squeeze_dims=ones)


def broadcast_to(g):
    a, b = g.broadcast_pair()
    small, big = (a, b) if len(a) <= len(b) else (b, a)
    full = np.broadcast_shapes(small, big)
    return g.case(g.array(g.t(), small), g.of(full, g.t("Tidx")))


def broadcast_args(g):
    a, b = g.broadcast_pair()
    return g.case(g.of(a, g.t()), g.of(b, g.t()))


def concat(g):
    shape = list(g.shape(1, 4))
    axis = g.int(0, len(shape) - 1)
    parts = []
    for _ in range(g.int(2, 4)):
        shape[axis] = g.int(0, 3)
        parts.append(g.array(g.t(), tuple(shape)))
    signed = axis - (len(shape) if g.coin(0.3) else 0)
    if g.op == "Concat":
        return g.case(g.of(signed, tf.int32), parts)
    return g.case(parts, g.of(signed, g.t("Tidx")))


def concat_offset(g):
    shape = list(g.shape(1, 4))
    axis = g.int(0, len(shape) - 1)
    parts = []
    for _ in range(g.int(2, 4)):
        shape[axis] = g.int(0, 3)
        parts.append(g.of(shape, g.t("shape_type")))
    return g.case(g.of(axis, tf.int32), parts)


def split(g):
    shape, n = list(g.shape(1, 4)), g.int(1, 4)
    axis = g.int(0, len(shape) - 1)
    shape[axis] = n * g.int(0, 2)
    return g.case(g.of(axis - (len(shape) if g.coin(0.3) else 0), tf.int32), g.array(g.t(), tuple(shape)), num_split=n)


def split_v(g):
    shape, n = list(g.shape(1, 4)), g.int(1, 4)
    axis = g.int(0, len(shape) - 1)
    sizes = [g.int(0, 3) for _ in range(n)]
    shape[axis] = sum(sizes)
    if g.coin(0.3):
        sizes[g.int(0, n - 1)] = -1
    return g.case(g.array(g.t(), tuple(shape)), g.of(sizes, g.t("Tlen")), g.of(axis - (len(shape) if g.coin(0.3) else 0), tf.int32), num_split=n)


def pack(g):
    shape = g.shape(0, 3)
    return g.case([g.array(g.t(), shape) for _ in range(g.int(1, 4))], axis=g.int(-len(shape) - 1, len(shape)))


def unpack(g):
    shape = g.shape(1, 4)
    axis = g.int(-len(shape), len(shape) - 1)
    return g.case(g.array(g.t(), shape), num=shape[axis], axis=axis)


def pad(g):
    shape = g.shape(0, 4)
    paddings = g.ints(0, 3, (len(shape), 2), g.t("Tpaddings"))
    extra = [g.array(g.t(), ())] if g.op == "PadV2" else []
    return g.case(g.array(g.t(), shape), paddings, *extra)


def mirror_pad(g):
    shape, mode = g.shape(1, 3, zeros=False), g.pick(["REFLECT", "SYMMETRIC"])
    room = [d - (mode == "REFLECT") for d in shape]
    paddings = g.of([[g.int(0, r), g.int(0, r)] for r in room], g.t("Tpaddings"))
    if g.op == "MirrorPadGrad":
        shape = tuple(int(d + p[0] + p[1]) for d, p in zip(shape, paddings))
        return g.case(g.array(g.t(), shape, "plain"), paddings, mode=mode, judge="sum")
    return g.case(g.array(g.t(), shape), paddings, mode=mode)


def tile(g):
    shape = g.shape(0, 3)
    return g.case(g.array(g.t(), shape), g.ints(0 if g.coin(0.2) else 1, 3, (len(shape),), g.t("Tmultiples")))


def reverse(g):
    shape = g.shape(0, 4)
    return g.case(g.array(g.t(), shape), g.array(tf.bool, (len(shape),)))


def reverse_v2(g):
    shape = g.shape(0, 4)
    axes = [a - (len(shape) if g.coin(0.3) else 0) for a in range(len(shape)) if g.coin()]
    return g.case(g.array(g.t(), shape), g.of(axes, g.t("Tidx")))


def reverse_sequence(g):
    shape = g.shape(2, 4)
    batch, seq = (int(v) for v in g.rng.permutation(len(shape))[:2])
    return g.case(g.array(g.t(), shape), g.ints(0, shape[seq], (shape[batch],), g.t("Tlen")), seq_dim=seq, batch_dim=batch)


def roll(g):
    shape = g.shape(1, 4)
    n = g.int(1, 3)
    if g.coin(0.3):
        return g.case(g.array(g.t(), shape), g.ints(-5, 5, (), g.t("Tshift")), g.ints(-len(shape), len(shape) - 1, (), g.t("Taxis")))
    return g.case(g.array(g.t(), shape), g.ints(-5, 5, (n,), g.t("Tshift")), g.ints(-len(shape), len(shape) - 1, (n,), g.t("Taxis")))


def fill(g):
    return g.case(g.of(g.shape(), g.t("index_type")), g.array(g.t(), ()))


def empty(g):
    return g.case(g.of(g.shape(), tf.int32), dtype=g.t("dtype"), init=True)


def invert_permutation(g):
    return g.case(g.of(g.rng.permutation(g.int(0, 6)), g.t()))


def shape_n(g):
    return g.case([g.array(g.t(), g.shape()) for _ in range(g.int(1, 3))])


def ensure_shape(g):
    shape = g.shape()
    return g.case(g.array(g.t(), shape), shape=[None if g.coin(0.3) else d for d in shape])


def identity_n(g):
    return g.case([g.array(g.pick([tf.float32, tf.string, tf.int64]), g.shape()) for _ in range(g.int(1, 3))])


def placeholder_with_default(g):
    shape = g.shape()
    return g.case(g.array(g.t("dtype"), shape), shape=shape)


def constant(g):
    dtype, shape = g.t("dtype"), g.shape()
    value = g.array(dtype, shape)
    # TensorFlow writes equal elements only once; both forms of the constant occur.
    if value.size and g.coin(0.3):
        value = np.broadcast_to(value.ravel()[0], shape).copy()
    if dtype == tf.string:
        return g.program(lambda t: [tf.constant(value, dtype, shape) if value.size else tf.zeros(shape, dtype)])
    return g.program(lambda t: [tf.constant(value, dtype)])


def placeholder(g):
    a = g.array(g.t("dtype"), g.shape())
    return g.program(lambda t: [t[0]], a)


def blocks(g):
    size = g.int(2, 3)
    form = "NHWC"
    n, h, w, c = g.int(0, 2), g.int(0, 3), g.int(1, 3), g.int(1, 3)
    shape = (n, h * size, w * size, c) if g.op == "SpaceToDepth" else (n, h, w, c * size * size)
    return g.case(g.array(g.t(), shape), block_size=size, data_format=form)


def space_to_batch(g):
    size = g.int(2, 3)
    pads = g.ints(0, 2, (2, 2), g.t("Tpaddings"))
    h, w = (int(max(0, size * g.int(1, 3) - p.sum())) or int(size - p.sum() % size) for p in pads)
    return g.case(g.array(g.t(), (g.int(1, 2), h, w, g.int(1, 3))), pads, block_size=size)


def space_to_batch_nd(g):
    m = g.int(1, 3)
    block = g.ints(1, 3, (m,), g.t("Tblock_shape"))
    pads = g.ints(0, 2, (m, 2), g.t("Tpaddings"))
    spatial = [int(-p.sum() % b + b * g.int(0 if p.sum() else 1, 2)) for p, b in zip(pads, block)]
    return g.case(g.array(g.t(), (g.int(1, 2), *spatial, *g.shape(0, 2))), block, pads)


def batch_to_space_nd(g):
    m = g.int(1, 3)
    block = g.ints(1, 3, (m,), g.t("Tblock_shape"))
    spatial = [g.int(1, 3) for _ in range(m)]
    crops = []
    for s, b in zip(spatial, block):
        first = g.int(0, int(s * b))
        crops.append([first, g.int(0, int(s * b) - first)])
    batch = int(np.prod(block)) * g.int(1, 2)
    return g.case(g.array(g.t(), (batch, *spatial, *g.shape(0, 2))), block, g.of(crops, g.t("Tcrops")))


def batch_to_space(g):
    size, h, w = g.int(2, 3), g.int(1, 3), g.int(1, 3)
    crops = g.ints(0, 1, (2, 2), g.t("Tidx"))
    return g.case(g.array(g.t(), (size * size * g.int(1, 2), h, w, g.int(1, 3))), crops, block_size=size)


def patches(g):
    shape = (g.int(0, 2), g.int(1, 6), g.int(1, 6), g.int(1, 3))
    kh, kw, rate = g.int(1, 3), g.int(1, 3), g.int(1, 2)
    padding = "SAME" if (kh - 1) * rate + 1 > shape[1] or (kw - 1) * rate + 1 > shape[2] else g.pick(["SAME", "VALID"])
    return g.case(g.array(g.t(), shape), ksizes=[1, kh, kw, 1], strides=[1, g.int(1, 3), g.int(1, 3), 1], rates=[1, rate, rate, 1], padding=padding)


def data_format(g):
    src, dst = g.pick([("NHWC", "NCHW"), ("NCHW", "NHWC")])
    if g.op == "DataFormatDimMap":
        return g.case(g.ints(-4, 3, g.shape(0, 2), g.t()), src_format=src, dst_format=dst)
    return g.case(g.array(g.t(), g.pick([(4,), (4, 2)])), src_format=src, dst_format=dst)


GENERATORS = {
    "Transpose": transpose, "ConjugateTranspose": transpose, "Reshape": reshape, "ExpandDims": expand_dims, "Squeeze": squeeze,
    "BroadcastTo": broadcast_to, "BroadcastArgs": broadcast_args, "BroadcastGradientArgs": broadcast_args, "Concat": concat, "ConcatV2": concat,
    "ConcatOffset": concat_offset, "Split": split, "SplitV": split_v, "Pack": pack, "Unpack": unpack, "Pad": pad, "PadV2": pad,
    "MirrorPad": mirror_pad, "MirrorPadGrad": mirror_pad, "Tile": tile, "Reverse": reverse, "ReverseV2": reverse_v2,
    "ReverseSequence": reverse_sequence, "Roll": roll, "Fill": fill, "Empty": empty, "InvertPermutation": invert_permutation, "ShapeN": shape_n,
    "EnsureShape": ensure_shape, "IdentityN": identity_n, "PlaceholderWithDefault": placeholder_with_default, "Const": constant,
    "Placeholder": placeholder, "SpaceToDepth": blocks, "DepthToSpace": blocks, "SpaceToBatch": space_to_batch,
    "SpaceToBatchND": space_to_batch_nd, "BatchToSpace": batch_to_space, "BatchToSpaceND": batch_to_space_nd, "ExtractImagePatches": patches, "DataFormatDimMap": data_format,
    "DataFormatVecPermute": data_format,
}  # fmt: skip
