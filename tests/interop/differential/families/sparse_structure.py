"""Sparse tensors taken apart and put together: serialised, in maps, sliced, concatenated, added, reduced, counted, crossed."""

import numpy as np
import tensorflow as tf

from .sparse import coordinates, sparse

tf1 = tf.compat.v1
raw = tf.raw_ops
# What TensorFlow has kernels for, of ops that take any type.
TYPES = [tf.float32, tf.int64, tf.string, tf.bool, tf.complex64, tf.float16, tf.uint8, tf.bfloat16]


def reorder(g):
    shape = g.shape(1, 3, zeros=False)
    at, values, dims = sparse(g, g.t(), shape)
    order = g.rng.permutation(len(at))
    return g.case(at[order], values, dims)


def cut(g):
    shape = g.shape(1, 3, zeros=False)
    start = [g.int(0, n) for n in shape]
    return g.case(*sparse(g, g.t(), shape), g.of(start, tf.int64), g.of([g.int(0, 5) for _ in shape], tf.int64))


def cut_grad(g):
    shape = g.shape(1, 3, zeros=False)
    at = coordinates(g, shape)
    start = np.array([g.int(0, n - 1) for n in shape], np.int64)
    size = np.array([g.int(1, 4) for _ in shape])
    inside = at[np.all((at >= start) & (at < start + size), axis=1)] - start
    return g.case(g.array(g.t(), (len(inside),), "plain"), at, start, inside)


def concat(g):
    shape, n = list(g.shape(1, 3, zeros=False)), g.int(2, 3)
    axis = g.int(0, len(shape) - 1)
    parts = []
    for _ in range(n):
        shape[axis] = g.int(1, 4)
        parts.append(sparse(g, g.t(), tuple(shape)))
    return g.case(*([p[i] for p in parts] for i in range(3)), concat_dim=axis - len(shape) if g.coin(0.3) else axis)


def add(g):
    shape = g.shape(1, 3, zeros=False)
    real = {tf.complex64: tf.float32, tf.complex128: tf.float64}.get(g.t(), g.t())
    g.restrict(T=lambda t: t == g.t(), Treal=lambda t: t == real)
    return g.case(*sparse(g, g.t(), shape), *sparse(g, g.t(), shape), g.of(g.pick([0, 0, 1, 3]), real), judge="close")


def add_grad(g):
    shape = g.shape(1, 3, zeros=False)
    a, b = coordinates(g, shape), coordinates(g, shape)
    both = np.unique(np.concatenate([a, b]), axis=0).reshape(-1, len(shape))
    kept = both[g.rng.random(len(both)) < 0.8]
    return g.case(g.array(g.t(), (len(kept),), "plain"), a, b, kept)


def add_dense(g):
    shape, index = g.shape(1, 3, zeros=False), g.t("Tindices")
    at = coordinates(g, shape).astype(index.as_numpy_dtype)
    return g.case(at, g.array(g.t(), (len(at),), "plain"), g.of(shape, index), g.array(g.t(), shape, "plain"), judge="close")


def reduce(g):
    shape = g.shape(1, 3, zeros=False)
    axes = g.rng.permutation(len(shape))[: g.int(0, len(shape))]
    axes = np.where(g.rng.random(len(axes)) < 0.3, axes - len(shape), axes)
    axes = g.of(axes[0], tf.int32) if len(axes) == 1 and g.coin(0.3) else g.of(axes, tf.int32)
    return g.case(*sparse(g, g.t(), shape), axes, keep_dims=g.coin(), judge="sum" if "Sum" in g.op else "exact")


def softmax(g):
    return g.case(*sparse(g, g.t(), g.shape(2, 3, zeros=False)), judge="close")


def serialize(g):
    g.types = {"T": g.pick(TYPES), "out_type": tf.string}
    return g.case(*sparse(g, g.t(), g.shape(2, 3, zeros=False)))


def deserialize(g):
    """Three strings, or a matrix of them, through SerializeSparse; sometimes as variants."""
    dtype, n = g.pick(TYPES), g.int(0, 3)
    rank = g.int(1, 3)
    parts = [sparse(g, dtype, g.shape(rank, rank, zeros=False)) for _ in range(max(n, 1))]
    variant = g.coin(0.3) and g.op == "DeserializeSparse"
    wrong = g.coin(0.1)

    def build(t):
        each = [raw.SerializeSparse(sparse_indices=i, sparse_values=v, sparse_shape=s, out_type=tf.variant if variant else tf.string) for i, v, s in zip(t[::3], t[1::3], t[2::3])]
        all = tf.stack(each) if n or g.op == "DeserializeManySparse" else each[0]
        if g.op == "DeserializeSparse" and n == 2:
            all = all[None]
        return list(getattr(raw, g.op)(serialized_sparse=all, dtype=tf.float64 if wrong else dtype))

    return g.program(build, *[x for p in parts for x in p], label=dtype.name)


def kept_in_map(g):
    dtype, shape, name = g.pick(TYPES), g.shape(2, 3, zeros=False), g.name()
    parts = sparse(g, dtype, shape)
    many = g.op == "AddManySparseToTensorsMap" or g.op == "TakeManySparseFromTensorsMap" and g.coin()
    missing = g.coin(0.1)

    def build(t):
        make = raw.AddManySparseToTensorsMap if many else raw.AddSparseToTensorsMap
        handles = make(sparse_indices=t[0], sparse_values=t[1], sparse_shape=t[2], shared_name=name)
        flat = tf.reshape(handles, [-1])
        with tf1.control_dependencies([handles]):
            taken = raw.TakeManySparseFromTensorsMap(sparse_handles=flat + 100 if missing else flat[::-1], dtype=dtype, shared_name=name)
        return [tf.shape(handles), *taken]

    return g.program(build, *parts, label=dtype.name)


def crossed(g):
    rows, n = g.int(1, 4), g.int(0, 2)
    strong = g.op == "SparseCrossHashed" and g.coin()
    # Strong hashes of numbers end TensorFlow's process.
    kinds = [tf.string if strong else g.pick([tf.int64, tf.string]) for _ in range(n + g.int(0 if n else 1, 2))]
    parts = [sparse(g, t, (rows, g.int(1, 3)), "plain") for t in kinds[:n]]
    dense = [g.array(t, (rows, g.int(1, 3)), "plain") for t in kinds[n:]]
    g.types = {}
    inputs = [*([p[i] for p in parts] for i in range(3)), dense]
    if g.op == "SparseCrossV2":
        return g.case(*inputs, np.array(g.pick([b"_X_", b"", b"-"]), object))
    return g.case(*inputs, g.of(g.pick([0, 1, 1000]), tf.int64), np.array(strong), g.of([g.int(0, 99), g.int(0, 99)], tf.int64))


def weights(g, dtype, shape):
    return g.array(dtype, shape, "plain") if g.coin() else g.array(dtype, (0,), "plain")


def ragged_splits(g, rows=None, most=4):
    lengths = g.rng.integers(0, most, g.int(1, 4) if rows is None else rows)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def bins(g):
    size, top = g.of(g.int(0, 6), g.t("Tidx")), g.int(0, 8)
    binary = g.coin(0.3)
    if g.op == "RaggedBincount":
        splits = ragged_splits(g)
        values = g.ints(0, top, (splits[-1],), g.t("Tidx"))
        return g.case(splits, values, size, weights(g, g.t(), values.shape), binary_output=binary, judge="sum")
    shape = g.shape(1, 2, zeros=False)
    at = coordinates(g, shape)
    values = g.ints(0, top, (len(at),), g.t("Tidx"))
    return g.case(at, values, g.of(shape, tf.int64), size, weights(g, g.t(), values.shape), binary_output=binary, judge="sum")


def counts(g):
    attrs = {"minlength": g.pick([-1, -1, 0, 3, 12]), "maxlength": g.pick([-1, -1, 0, 5, 20]), "binary_output": g.coin(0.3), "judge": "sum"}
    kind, number = g.t("output_type"), g.t("T")
    if g.op == "DenseCountSparseOutput":
        values = g.ints(0, 9, g.shape(1, 2, zeros=False), number)
        return g.case(values, weights(g, kind, values.shape), **attrs)
    if g.op == "RaggedCountSparseOutput":
        splits = ragged_splits(g)
        values = g.ints(0, 9, (splits[-1],), number)
        return g.case(splits, values, weights(g, kind, values.shape), **attrs)
    shape = g.shape(1, 2, zeros=False)
    at = coordinates(g, shape)
    values = g.ints(0, 9, (len(at),), number)
    return g.case(at, values, g.of(shape, tf.int64), weights(g, kind, values.shape), **attrs)


GENERATORS = {
    "SparseReorder": reorder, "SparseSlice": cut, "SparseSliceGrad": cut_grad, "SparseConcat": concat, "SparseAdd": add, "SparseAddGrad": add_grad,
    "SparseTensorDenseAdd": add_dense, "SparseSoftmax": softmax, "SparseCrossV2": crossed, "SparseCrossHashed": crossed,
    "SparseBincount": bins, "RaggedBincount": bins,
}  # fmt: skip
GENERATORS |= {f"SparseReduce{kind}{form}": reduce for kind in ("Sum", "Max") for form in ("", "Sparse")}
GENERATORS |= {f"{kind}CountSparseOutput": counts for kind in ("Dense", "Sparse", "Ragged")}
GENERATORS |= {"SerializeSparse": serialize, "SerializeManySparse": serialize, "DeserializeSparse": deserialize, "DeserializeManySparse": deserialize}
GENERATORS |= {op: kept_in_map for op in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")}
