"""Reductions over axes, scans, segments, counts."""

import numpy as np
import tensorflow as tf


def axes(g, rank, index_type):
    """Some axes of a rank, counted from either end; a scalar at times."""
    chosen = [a - rank if g.coin(0.3) else a for a in range(rank) if g.coin(0.6)]
    g.rng.shuffle(chosen)
    if len(chosen) == 1 and g.coin(0.3):
        return g.of(chosen[0], index_type)
    return g.of(chosen, index_type)


def summable(g, dtype, shape, profiles=("plain", "nonfinite", "whole")):
    """Numbers whose sum does not depend on the order by more than rounding."""
    if dtype.is_complex:
        return g.array(dtype, shape, "plain")
    return g.array(dtype, shape, g.pick(profiles) if dtype.is_floating else g.profile("plain", "wide"))


def reduce(g):
    dtype = g.t() if "T" in g.types else tf.bool
    shape = g.shape()
    if g.op == "Mean" and dtype.is_integer and 0 in shape:
        shape = tuple(max(d, 1) for d in shape)  # an integer mean over no elements crashes TensorFlow's process
    if g.op == "EuclideanNorm" and dtype.is_integer:
        x, judge = g.array(dtype, shape, "plain"), "exact"  # the root of squares that overflow is unspecified
    elif g.op in ("Max", "Min", "All", "Any"):
        x, judge = g.array(dtype, shape), "exact"
    else:
        x, judge = summable(g, dtype, shape, ("plain", "nonfinite")), "sum" if g.op != "Prod" else "product"
    return g.case(x, axes(g, len(shape), g.t("Tidx")), keep_dims=g.coin(), judge=judge)


def arg_extreme(g):
    shape = g.shape(1, 4)
    axis = g.int(0, len(shape) - 1)
    if shape[axis] == 0:
        shape = shape[:axis] + (3,) + shape[axis + 1 :]
    # With NaN the result depends on the order of comparison; ties are in `whole`.
    profile = g.profile("whole", "wide") if g.t().is_floating else g.profile("plain", "wide")
    return g.case(g.array(g.t(), shape, profile), g.of(axis - (len(shape) if g.coin(0.3) else 0), g.t("Tidx")))


def running(g):
    shape = g.shape(1, 3)
    axis = g.int(-len(shape), len(shape) - 1)
    return g.case(summable(g, g.t(), shape, ("plain", "nonfinite")), g.of(axis, g.t("Tidx")), exclusive=g.coin(), reverse=g.coin(), judge="sum" if g.op == "Cumsum" else "product")


def l2_loss(g):
    return g.case(summable(g, g.t(), g.shape(), ("plain", "nonfinite")), judge="loose_sum")


def add_n(g):
    shape = g.shape()
    terms = [summable(g, g.t(), shape, ("plain", "nonfinite", "special") if g.op == "AddN" else ("plain",)) for _ in range(g.int(1, 5))]
    attrs = {"shape": shape} if g.op == "AccumulateNV2" else {}
    return g.case(terms, judge="sum", **attrs)


def bincount(g):
    shape = g.shape(1, 2)
    size = g.int(0, 6)
    weights = g.pick([shape, (0,)])
    return g.case(g.ints(0, 7, shape), g.of(size, tf.int32), g.array(g.t(), weights, "plain"), judge="sum")


def dense_bincount(g):
    shape, index = g.shape(1, 2), g.t("Tidx")
    weights = g.pick([shape, (0,)])
    return g.case(g.ints(0, 7, shape, index), g.of(g.int(0, 6), index), g.array(g.t(), weights, "plain"), binary_output=g.coin(0.3), judge="sum")


def bucketize(g):
    boundaries = np.sort(g.array(tf.float32, (g.int(0, 5),), "plain")).tolist()
    return g.case(g.array(g.t(), g.shape(0, 3)), boundaries=boundaries)


def histogram(g):
    values = g.array(g.t(), g.shape(), g.profile("plain", "whole"))
    return g.case(values, g.of([-4, 5], g.t()), g.of(g.int(1, 7), tf.int32), dtype=g.t("dtype"))


def sorted_ids(g, n, dtype, gaps=True):
    steps = g.rng.integers(0, 3 if gaps and g.coin() else 2, n)
    return np.cumsum(steps).astype(dtype.as_numpy_dtype) - (steps[0] if n and g.coin() else 0) * 0


def segment(g):
    shape = g.shape(1, 3)
    ids = sorted_ids(g, shape[0], g.t("Tindices"))
    exact = g.op in ("SegmentMax", "SegmentMin")
    profiles = ("plain", "wide") if exact else ("plain", "nonfinite")
    x = summable(g, g.t(), shape, profiles)
    if g.op == "SegmentMean" and g.t().is_integer:
        x = g.array(g.t(), shape, "plain")
    return g.case(x, ids.astype(g.t("Tindices").as_numpy_dtype), judge="exact" if exact else "sum" if g.op != "SegmentProd" else "product")


def unsorted_segment(g):
    ids_shape = g.shape(0, 2)
    shape = ids_shape + g.shape(0, 2)
    n = g.int(0, 6)
    # Negative ids are dropped; ids past the end are an error.
    ids = g.ints(-1, max(n - 1, -1) + (2 if g.coin(0.05) else 0), ids_shape, g.t("Tindices"))
    exact = g.op.endswith(("Max", "Min"))
    x = summable(g, g.t(), shape, ("plain", "wide") if exact else ("plain", "nonfinite"))
    return g.case(x, ids, g.of(n, g.t("Tnumsegments")), judge="exact" if exact else "sum" if g.op.endswith("Sum") else "product")


def sparse_segment(g):
    shape = g.shape(1, 3)
    rows = max(shape[0], 1)
    shape = (rows,) + shape[1:]
    n = g.int(0, 6)
    ids = sorted_ids(g, n, g.t("Tsegmentids"))
    inputs = [summable(g, g.t(), shape, ("plain",)), g.ints(0, rows - 1, (n,), g.t("Tidx")), ids.astype(g.t("Tsegmentids").as_numpy_dtype)]
    if g.op.endswith("WithNumSegments"):
        inputs.append(g.of((int(ids[-1]) if n else 0) + g.int(0, 3) + (1 if n else 0), g.t("Tnumsegments")))
    return g.case(*inputs, judge="sum")


def sparse_segment_grad(g):
    n = g.int(1, 6)
    ids = sorted_ids(g, n, g.t("Tsegmentids"))
    shape = (int(ids[-1]) + 1 + g.int(0, 1),) + g.shape(0, 2)
    rows = g.int(1, 5)
    return g.case(g.array(g.t(), shape, "plain"), g.ints(0, rows - 1, (n,), g.t("Tidx")), ids.astype(g.t("Tsegmentids").as_numpy_dtype), g.of(rows, tf.int32), judge="sum")


SPARSE = [f"SparseSegment{kind}" for kind in ("Sum", "Mean", "SqrtN")]
GENERATORS = {op: reduce for op in "Sum Prod Max Min Mean All Any EuclideanNorm".split()}
GENERATORS |= {"ArgMax": arg_extreme, "ArgMin": arg_extreme, "Cumsum": running, "Cumprod": running, "L2Loss": l2_loss, "AddN": add_n, "AccumulateNV2": add_n}
GENERATORS |= {"Bincount": bincount, "DenseBincount": dense_bincount, "HistogramFixedWidth": histogram, "Bucketize": bucketize}
GENERATORS |= {f"Segment{kind}": segment for kind in ("Sum", "Prod", "Max", "Min", "Mean")}
GENERATORS |= {f"UnsortedSegment{kind}": unsorted_segment for kind in ("Sum", "Prod", "Max", "Min")}
GENERATORS |= {op: sparse_segment for op in SPARSE} | {op + "WithNumSegments": sparse_segment for op in SPARSE} | {op + grad: sparse_segment_grad for op in SPARSE for grad in ("Grad", "GradV2")}
