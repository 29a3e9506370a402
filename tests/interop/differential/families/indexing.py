"""Gathers, scatters, slices and what else takes indices."""

import numpy as np
import tensorflow as tf

SCATTERS = "TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin TensorScatterUpdate ScatterNdNonAliasingAdd".split()


def gather(g):
    shape = g.shape(1, 3, zeros=False)
    return g.case(g.array(g.t("Tparams"), shape), g.ints(0, shape[0] - 1, g.shape(0, 2), g.t("Tindices")))


def gather_v2(g):
    batch = g.int(0, 2)
    shape = g.shape(batch + 1, 4, zeros=False)
    axis = g.int(batch, len(shape) - 1)
    indices = g.ints(0, shape[axis] - 1, shape[:batch] + g.shape(0, 2), g.t("Tindices"))
    return g.case(g.array(g.t("Tparams"), shape), indices, g.of(axis - (len(shape) if g.coin(0.3) else 0), g.t("Taxis")), batch_dims=batch)


def nd_indices(g, shape, depth, dtype, outer):
    columns = [g.rng.integers(0, d, outer) for d in shape[:depth]]
    return np.stack(columns, -1).astype(dtype.as_numpy_dtype) if columns else np.zeros(outer + (0,), dtype.as_numpy_dtype)


def gather_nd(g):
    shape = g.shape(1, 4, zeros=False)
    depth = g.int(0, len(shape))
    return g.case(g.array(g.t("Tparams"), shape), nd_indices(g, shape, depth, g.t("Tindices"), g.shape(0, 2)))


def distinct(g, shape, depth, dtype):
    """Indices without repetition, so that the order of updates does not matter."""
    total = int(np.prod(shape[:depth]))
    flat = g.rng.permutation(total)[: g.int(0, total)]
    return np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(dtype.as_numpy_dtype)


def scatter_nd(g):
    shape = g.shape(1, 3, zeros=False)
    depth = g.int(1, len(shape))
    dtype = g.t("Tindices")
    indices = nd_indices(g, shape, depth, dtype, (g.int(0, 5),))
    profile = "special" if g.t() in (tf.bool, tf.string) else "plain"
    if g.t() in (tf.bool, tf.string):
        indices = distinct(g, shape, depth, dtype)
    updates = g.array(g.t(), indices.shape[:-1] + shape[depth:], profile)
    return g.case(indices, updates, g.of(shape, dtype), judge="sum")


def tensor_scatter(g):
    shape = g.shape(1, 3, zeros=False)
    depth = g.int(1, len(shape))
    indices = distinct(g, shape, depth, g.t("Tindices")) if g.op == "TensorScatterUpdate" or g.coin() else nd_indices(g, shape, depth, g.t("Tindices"), (g.int(0, 5),))
    updates = g.array(g.t(), indices.shape[:-1] + shape[depth:], "plain")
    return g.case(g.array(g.t(), shape, "plain"), indices, updates, judge="sum")


def strided(g, shape, index_type, gradient=False):
    """begin, end, strides and masks for a shape, with ellipsis, new axes and shrinking."""
    begin, end, strides, masks = [], [], [], dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    dim, i, ellipsis = 0, 0, g.int(0, len(shape)) if g.coin(0.2) else -1
    while dim < len(shape):
        if ellipsis == dim and not masks["ellipsis_mask"]:
            masks["ellipsis_mask"] = 1 << i
            begin, end, strides, i = begin + [0], end + [0], strides + [1], i + 1
            dim += g.int(0, len(shape) - dim)
            rest = len(shape) - dim
            shape = shape[len(shape) - rest :] if rest else ()
            dim = 0
            continue
        if g.coin(0.12):
            masks["new_axis_mask"] |= 1 << i
            begin, end, strides, i = begin + [g.int(-2, 2)], end + [g.int(-2, 2)], strides + [1], i + 1
            continue
        d = shape[dim]
        if d and g.coin(0.2):
            masks["shrink_axis_mask"] |= 1 << i
            at = g.int(-d, d - 1)
            begin, end, strides, i, dim = begin + [at], end + [at + 1], strides + [1], i + 1, dim + 1
            continue
        for name in ("begin_mask", "end_mask"):
            masks[name] |= (1 << i) if g.coin(0.25) else 0
        begin, end, strides = begin + [g.int(-d - 2, d + 2)], end + [g.int(-d - 2, d + 2)], strides + [g.pick([1, 1, 2, 3, -1, -2])]
        i, dim = i + 1, dim + 1
        if g.coin(0.1):
            break
    return [g.of(v, index_type) for v in (begin, end, strides)], masks


def reference_slice(shape, parts, masks):
    """The shape a strided slice has, by TensorFlow's own rules in the Python slice notation."""
    key = []
    for i, (b, e, s) in enumerate(zip(*(p.tolist() for p in parts))):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            key.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            key.append(None)
        elif masks["shrink_axis_mask"] & bit:
            key.append(b)
        else:
            key.append(slice(None if masks["begin_mask"] & bit else b, None if masks["end_mask"] & bit else e, s))
    return np.zeros(shape, np.int8)[tuple(key)].shape


def strided_slice(g):
    shape = g.shape(1, 4)
    parts, masks = strided(g, shape, g.t("Index"))
    return g.case(g.array(g.t(), shape), *parts, **masks)


def strided_slice_grad(g):
    shape = g.shape(1, 4)
    parts, masks = strided(g, shape, g.t("Index"))
    return g.case(g.of(shape, g.t("Index")), *parts, g.array(g.t(), reference_slice(shape, parts, masks)), **masks)


def strided_slice_update(g):
    shape = g.shape(1, 4)
    parts, masks = strided(g, shape, g.t("Index"))
    return g.case(g.array(g.t(), shape), *parts, g.array(g.t(), reference_slice(shape, parts, masks)), **masks)


def slice_(g):
    shape = g.shape(0, 4)
    begin = [g.int(0, d) for d in shape]
    size = [-1 if g.coin(0.2) else g.int(0, d - b) for d, b in zip(shape, begin)]
    return g.case(g.array(g.t(), shape), g.of(begin, g.t("Index")), g.of(size, g.t("Index")))


def one_hot(g):
    shape, depth = g.shape(0, 3), g.int(0, 5)
    low = 0 if g.t("TI").is_unsigned else -2
    return g.case(g.ints(low, depth + 1, shape, g.t("TI")), g.of(depth, tf.int32), g.array(g.t(), ()), g.array(g.t(), ()), axis=g.int(-1, len(shape)))


def dynamic_partition(g):
    shape, n = g.shape(0, 2), g.int(1, 4)
    return g.case(g.array(g.t(), shape + g.shape(0, 2)), g.ints(0, n - 1, shape), num_partitions=n)


def dynamic_stitch(g):
    inner = g.shape(0, 2)
    total = g.int(0, 7)
    order, indices, data = g.rng.permutation(total), [], []
    for part in np.array_split(order, g.int(1, 3)):
        indices.append(g.of(part, tf.int32))
        data.append(g.array(g.t(), part.shape + inner))
    return g.case(indices, data)


def list_diff(g):
    return g.case(g.array(g.t(), (g.int(0, 9),), "plain"), g.array(g.t(), (g.int(0, 5),), "plain"))


def unique(g):
    return g.case(g.array(g.t(), (g.int(0, 9),), g.profile("whole", "plain")))


def unique_v2(g):
    shape = g.shape(1, 3)
    axis = [g.int(0, len(shape) - 1)] if len(shape) > 1 or g.coin() else []
    return g.case(g.array(g.t(), shape, g.profile("whole", "plain")), g.of(axis, g.t("Taxis")))


def unravel_index(g):
    dims = [g.int(1, 5) for _ in range(g.int(1, 3))]
    return g.case(g.ints(0, int(np.prod(dims)) - 1, g.shape(0, 1), g.t("Tidx")), g.of(dims, g.t("Tidx")))


def where(g):
    x = g.array(g.t(), g.shape(0, 4), g.profile("whole", "special"))
    return g.case(x)


def edit_distance(g):
    batch, longest = g.int(1, 3), 4

    def sparse():
        rows = [[b, i] for b in range(batch) for i in range(g.int(0, longest))]
        return np.array(rows, np.int64).reshape(-1, 2)

    a, b = sparse(), sparse()
    size = np.array([batch, longest], np.int64)
    dtype = g.t()
    return g.case(a, g.array(dtype, (len(a),), "whole"), size, b, g.array(dtype, (len(b),), "whole"), size, normalize=g.coin())


GENERATORS = {
    "Gather": gather, "GatherV2": gather_v2, "GatherNd": gather_nd, "ScatterNd": scatter_nd, "StridedSlice": strided_slice,
    "StridedSliceGrad": strided_slice_grad, "TensorStridedSliceUpdate": strided_slice_update, "Slice": slice_, "OneHot": one_hot,
    "DynamicPartition": dynamic_partition, "DynamicStitch": dynamic_stitch, "ParallelDynamicStitch": dynamic_stitch, "ListDiff": list_diff,
    "Unique": unique, "UniqueWithCounts": unique, "UniqueV2": unique_v2, "UniqueWithCountsV2": unique_v2, "UnravelIndex": unravel_index,
    "Where": where, "EditDistance": edit_distance,
} | {op: tensor_scatter for op in SCATTERS}  # fmt: skip
