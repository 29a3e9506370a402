"""Ragged tensors, given as row splits and values."""

import numpy as np
import tensorflow as tf

from .sparse import sparse

raw = tf.raw_ops
TYPES = [tf.float32, tf.int64, tf.string, tf.bool, tf.complex64, tf.float16, tf.uint8, tf.bfloat16]


def nested(g, rank, index=tf.int64, rows=None):
    """Row splits of `rank` ragged dimensions, outermost first; and the number of values."""
    rows, all = g.int(0, 4) if rows is None else rows, []
    for _ in range(rank):
        splits = np.concatenate([[0], np.cumsum(g.rng.integers(0, 4, rows))]).astype(tf.as_dtype(index).as_numpy_dtype)
        all.append(splits)
        rows = int(splits[-1])
    return all, rows


def to_sparse(g):
    splits, n = nested(g, g.int(1, 3), g.t("Tsplits"))
    return g.case(splits, g.array(g.t(), (n,) + g.shape(0, 2)))


def to_tensor(g):
    index, rank, way = g.t("Tindex"), g.int(1, 2), g.pick(["splits", "rowids"])
    splits, n = nested(g, rank, index)
    inner = g.shape(0, 2, zeros=False)
    values = g.array(g.t(), (n,) + inner)
    default = g.array(g.t(), inner[g.int(0, len(inner)) :] if g.coin() else ())
    parts, types = splits, ["ROW_SPLITS"] * rank
    if way == "rowids":
        parts = [g.of(len(splits[0]) - 1, index)] + [g.of(np.repeat(np.arange(len(s) - 1), np.diff(s)), index) for s in splits]
        types = ["FIRST_DIM_SIZE"] + ["VALUE_ROWIDS"] * rank
    shape = g.of(-1, g.t("Tshape")) if g.coin(0.3) else g.of([g.int(-1, 4) for _ in range(rank + 1)] + list(inner), g.t("Tshape"))
    return g.case(shape, values, default, list(parts), row_partition_types=types)


def gather(g):
    rank = g.int(1, 2)
    splits, n = nested(g, rank, g.t("Tsplits"), rows=g.int(1, 4))
    values = g.array(g.t("Tvalues"), (n,) + g.shape(0, 1))
    indices = g.ints(0, len(splits[0]) - 2, g.shape(0, 2), g.t("Tindices"))
    return g.case(splits, values, indices, OUTPUT_RAGGED_RANK=rank + indices.ndim - 1)


def fill(g):
    rows = g.int(1, 5)
    ids = np.sort(g.rng.integers(0, rows, g.int(0, 5)))
    return g.case(g.of(ids, tf.int64), g.array(g.t(), (len(ids),)), g.of(rows, tf.int64), g.array(g.t(), ()))


def fill_grad(g):
    n, full = g.int(0, 4), g.int(4, 7)
    return g.case(g.of(g.rng.permutation(full)[:n], tf.int64), g.array(g.t(), (full,), "plain"), judge="sum")


def cross(g):
    rows, order = g.int(1, 3), "".join(g.pick("RSD") for _ in range(g.int(1, 3)))
    out = g.pick([tf.int64, tf.string])
    # Splits of two types end TensorFlow's process.
    index = g.pick([tf.int32, tf.int64])
    ragged, sparse_inputs, dense = [], [], []
    for kind in order:
        dtype = g.pick([tf.int64, tf.string])
        if kind == "R":
            splits, n = nested(g, 1, index, rows=rows)
            ragged.append((g.array(dtype, (n,), "plain"), splits[0]))
        elif kind == "S":
            sparse_inputs.append(sparse(g, dtype, (rows, g.int(1, 3)), "plain"))
        else:
            dense.append(g.array(dtype, (rows, g.int(1, 3)), "plain"))
    g.types = {}
    attrs = {"input_order": order, "hashed_output": out == tf.int64, "num_buckets": g.pick([0, 1, 1000]), "hash_key": g.pick([1, 956888297470]), "out_values_type": out, "out_row_splits_type": index}
    return g.case([r[0] for r in ragged], [r[1] for r in ragged], *([s[i] for s in sparse_inputs] for i in range(3)), dense, **attrs)


def through_variant(g):
    """To variants, whole or by rows, perhaps picked, and back."""
    dtype, rank, batched = g.pick(TYPES), g.int(0, 2), g.coin()
    index = g.pick([tf.int32, tf.int64]) if rank else tf.int64
    splits, n = nested(g, rank, index, rows=g.int(1, 4))
    values = g.array(dtype, (n if rank else g.int(1, 3),) + g.shape(1, 1, zeros=False))
    wrong = g.int(1, 2) if g.coin(0.1) else 0

    def build(t):
        encoded = raw.RaggedTensorToVariant(rt_nested_splits=t[:-1], rt_dense_values=t[-1], batched_input=batched)
        inside = max(rank - 1, 0) if batched else rank
        outside = (inside + 1 if batched else inside) + wrong
        back = raw.RaggedTensorFromVariant(encoded_ragged=encoded, input_ragged_rank=g.pick([inside, -1]), output_ragged_rank=outside, Tvalues=dtype, Tsplits=index)
        return [tf.shape(encoded), *back.output_nested_splits, back.output_dense_values]

    return g.program(build, *splits, values, label=dtype.name)


def variant_gradient(g):
    dtype = g.pick([tf.float32, tf.float64, tf.float16])
    splits, n = nested(g, 1, tf.int64, rows=g.int(1, 4))
    values = g.array(dtype, (n, 2), "plain")

    def build(t):
        encoded = raw.RaggedTensorToVariant(rt_nested_splits=[t[0]], rt_dense_values=t[1], batched_input=g.coin())
        return raw.RaggedTensorToVariantGradient(encoded_ragged_grad=encoded, row_splits=t[0], dense_values_shape=tf.shape(t[1]), Tvalues=dtype)

    return g.program(build, *splits, values, label=dtype.name)


def composite(g):
    types = [g.pick(TYPES) for _ in range(g.int(1, 3))]
    wrong = g.coin(0.1)

    def build(t):
        encoded = raw.CompositeTensorVariantFromComponents(components=t, metadata=b"\n\x02\x08\x03")
        return list(raw.CompositeTensorVariantToComponents(encoded=encoded, metadata=b"" if wrong else b"\n\x02\x08\x03", Tcomponents=types))

    return g.program(build, *[g.array(t, g.shape(0, 2)) for t in types])


GENERATORS = {
    "RaggedTensorToSparse": to_sparse, "RaggedTensorToTensor": to_tensor, "RaggedGather": gather, "RaggedFillEmptyRows": fill,
    "RaggedFillEmptyRowsGrad": fill_grad, "RaggedCross": cross, "RaggedTensorToVariant": through_variant, "RaggedTensorFromVariant": through_variant,
    "RaggedTensorToVariantGradient": variant_gradient, "CompositeTensorVariantFromComponents": composite, "CompositeTensorVariantToComponents": composite,
}  # fmt: skip
