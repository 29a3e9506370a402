"""Sparse tensors, given as coordinates, values and a shape."""

import numpy as np
import tensorflow as tf


def coordinates(g, shape, most=6):
    """Distinct coordinates of a shape, in row-major order."""
    total = int(np.prod(shape))
    flat = np.sort(g.rng.permutation(total)[: g.int(0, min(most, total))])
    return np.stack(np.unravel_index(flat, shape), -1).astype(np.int64).reshape(len(flat), len(shape))


def sparse(g, dtype, shape, profile="plain"):
    at = coordinates(g, shape)
    return [at, g.array(dtype, (len(at),), profile), g.of(shape, tf.int64)]


def with_dense(g):
    shape = g.shape(1, 3, zeros=False)
    dense = g.array(g.t(), shape[g.int(0, len(shape) - 1) :] if g.coin(0.4) else shape, "positive" if g.op.endswith("Div") else "plain")
    return g.case(*sparse(g, g.t(), shape), dense, judge="close")


def with_sparse(g):
    shape = g.shape(1, 3, zeros=False)
    return g.case(*sparse(g, g.t(), shape), *sparse(g, g.t(), shape))


def fill_empty_rows(g):
    shape = g.shape(1, 2, zeros=False)
    return g.case(*sparse(g, g.t(), shape), g.array(g.t(), ()))


def fill_empty_rows_grad(g):
    n, full = g.int(0, 4), g.int(4, 7)
    return g.case(g.of(g.rng.permutation(full)[:n], tf.int64), g.array(g.t(), (full,), "plain"), judge="sum")


def reshape(g):
    shape = g.shape(1, 3, zeros=False)
    wanted = list(g.rng.permutation(shape)) if g.coin() else [int(np.prod(shape))]
    if g.coin(0.4):
        wanted[g.int(0, len(wanted) - 1)] = -1
    return g.case(coordinates(g, shape), g.of(shape, tf.int64), g.of(wanted, tf.int64))


def split(g):
    shape = g.shape(1, 3, zeros=False)
    axis = g.int(0, len(shape) - 1)
    return g.case(g.of(axis, tf.int64), *sparse(g, g.t(), shape), num_split=g.int(1, shape[axis]))


def mat_mul(g):
    m, k, n = g.int(1, 5), g.int(1, 5), g.int(1, 5)
    a, b = g.coin(), g.coin()
    at = coordinates(g, (k, m) if a else (m, k)).astype(g.t("Tindices").as_numpy_dtype)
    values = g.array(g.t(), (len(at),), "plain")
    return g.case(at, values, g.of((k, m) if a else (m, k), tf.int64), g.array(g.t(), (n, k) if b else (k, n), "plain"), adjoint_a=a, adjoint_b=b, judge="sum")


def to_dense(g):
    shape, index = g.shape(1, 3, zeros=False), g.t("Tindices")
    at = coordinates(g, shape).astype(index.as_numpy_dtype)
    values = g.array(g.t(), (len(at),) if g.coin(0.8) else ())
    return g.case(at, g.of(shape, index), values, g.array(g.t(), ()), validate_indices=g.coin())


def cross(g):
    """Sparse and dense inputs of one number of rows; features by rows, as the op wants them."""
    rows, n = g.int(1, 4), g.int(0, 2)
    kinds = [g.pick([tf.int64, tf.string]) for _ in range(n + g.int(0 if n else 1, 2))]
    parts = [sparse(g, t, (rows, g.int(1, 3)), "plain") for t in kinds[:n]]
    dense = [g.array(t, (rows, g.int(1, 3)), "plain") for t in kinds[n:]]
    out = g.pick([tf.int64, tf.string])
    # Strings of numbers only if the op hashes to integers; it may pass string features through.
    inside = out if out == tf.int64 or all(t == tf.string for t in kinds) else tf.int64
    attrs = {"hashed_output": out == tf.int64, "num_buckets": g.pick([0, 1, 1000]), "hash_key": g.pick([0xDECAFCAFFE, 1, 7]), "out_type": out, "internal_type": inside}
    g.types = {}
    return g.case(*([p[i] for p in parts] for i in range(3)), dense, **attrs)


def candidates(g):
    attrs = {"num_true": 1, "num_sampled": g.int(1, 4), "unique": g.coin(), "range_max": g.int(5, 9), "seed": g.int(1, 99), "seed2": g.int(1, 99)}
    return g.case(g.ints(0, 4, (2, 1), tf.int64), judge="close", **attrs)


def accidental_hits(g):
    num_true = g.int(1, 3)
    return g.case(g.ints(0, 5, (g.int(0, 4), num_true), tf.int64), g.ints(0, 5, (g.int(0, 5),), tf.int64), num_true=num_true)


def summary(g):
    shape = g.shape(0, 1)
    tags = np.empty(shape, object)
    for i in np.ndindex(shape):
        tags[i] = b"tag%d" % g.int(0, 9)
    return g.case(tags, g.array(g.t(), shape, "plain"))


GENERATORS = {f"SparseDenseCwise{what}": with_dense for what in ("Add", "Mul", "Div")} | {op: with_sparse for op in ("SparseSparseMaximum", "SparseSparseMinimum")}
GENERATORS |= {
    "SparseCross": cross, "SparseFillEmptyRows": fill_empty_rows, "SparseFillEmptyRowsGrad": fill_empty_rows_grad, "SparseReshape": reshape, "SparseSplit": split,
    "SparseTensorDenseMatMul": mat_mul, "SparseToDense": to_dense, "UniformCandidateSampler": candidates, "ScalarSummary": summary,
    "LogUniformCandidateSampler": candidates, "ComputeAccidentalHits": accidental_hits,
}  # fmt: skip
