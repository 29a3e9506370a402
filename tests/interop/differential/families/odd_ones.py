"""Small ops that belong to no other family: copies, facts of the device, files as constants, rows changed in place, parts of variables."""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from .indexing import reference_slice, strided
from .state import after, on_variable, reference

raw = tf.raw_ops


def copy(g):
    return g.case(g.array(g.t(), g.shape(0, 3)))


def device_index(g):
    names = [g.pick(["CPU", "GPU", "TPU"]) for _ in range(g.int(0, 3))]
    return g.program(lambda t: [raw.DeviceIndex(device_names=names)])


def fake(g):
    shape = [None if g.coin(0.3) else d for d in g.shape(0, 3)]
    return g.program(lambda t: [tf.shape(raw.FakeParam(dtype=g.t("dtype"), shape=shape))])


def immutable(g):
    dtype = g.pick([tf.float32, tf.int32, tf.uint8, tf.complex64])
    value = g.array(dtype, g.shape(0, 3, zeros=False), "plain")
    short = g.coin(0.2)

    def build(t):
        fd, path = tempfile.mkstemp(prefix="differential_")
        os.close(fd)
        pathlib.Path(path).write_bytes(value.tobytes()[: value.nbytes // 2 if short else None])
        return [raw.ImmutableConst(dtype=dtype, shape=value.shape, memory_region_name=path)]

    return g.program(build)


def inplace(g):
    dtypes = [tf.float32, tf.float64, tf.int32, tf.int64] + ([tf.bool, tf.string] if g.op == "InplaceUpdate" else [])
    dtype, shape = g.pick(dtypes), g.shape(1, 3, zeros=False)
    rows = g.of(g.rng.permutation(shape[0])[: g.int(0, shape[0])] - (shape[0] if g.coin(0.3) else 0), tf.int32)

    def build(t):  # TensorFlow works in the memory of what is fed.
        return [getattr(raw, g.op)(x=raw.DeepCopy(x=t[0]), i=t[1], v=t[2])]

    return g.program(build, g.array(dtype, shape, "plain"), rows, g.array(dtype, (len(rows),) + shape[1:], "plain"))


def parallel_concat(g):
    n, rest = g.int(1, 4), g.shape(0, 2)
    values = [g.array(g.t(), (1,) + rest) for _ in range(n)]

    def build(t):
        rows = [tf.ensure_shape(x, (1,) + rest) for x in t]
        return [raw.ParallelConcat(values=rows, shape=(n,) + rest)]

    return g.program(build, *values)


def ref_select(g):
    n, at = g.int(1, 3), g.int(-1, 3)
    values = [g.array(tf.float32, (2,), "plain") for _ in range(n)]

    def build(t):
        made = [reference(g, tf.float32, (2,), x) for x in t]
        picked = after([ready for _, ready in made], lambda: raw.RefSelect(index=tf.constant(at), inputs=[ref for ref, _ in made]))
        return [raw.Identity(input=raw.AssignAdd(ref=picked, value=tf.constant([1.0, 2.0])))]

    return g.program(build, *values)


def slice_assign(g):
    dtype, shape = g.pick([tf.float32, tf.int64, tf.bool, tf.complex64]), g.shape(1, 3, zeros=False)
    parts, masks = strided(g, shape, g.t("Index"))
    value = g.array(dtype, reference_slice(shape, parts, masks), "plain")

    def update(handle, t, _):
        return getattr(raw, g.op)(ref=handle, begin=t[0], end=t[1], strides=t[2], value=t[3], **masks)

    return on_variable(g, g.array(dtype, shape, "plain"), update, [*parts, value])


def watched(g):
    """What TensorFlow's debugger puts beside a tensor, without a debugger."""
    attrs = {} if g.op == "DebugIdentityV2" else {"tensor_name": g.pick(["a:0", "a/b:1", "a", "", "a:0:b"])}
    if g.op == "DebugNumericSummary":
        attrs |= {"lower_bound": g.pick([-np.inf, -2.0]), "upper_bound": g.pick([np.inf, 3.0])}
    shape = g.shape(0, 3)
    return g.case(g.array(g.t(), shape, "plain" if g.coin() or not g.t().is_floating else "special"), judge="close", **attrs)


GENERATORS = {op: copy for op in ("Copy", "CopyHost", "GuaranteeConst")} | {op: inplace for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub")}
GENERATORS |= {"DeviceIndex": device_index, "FakeParam": fake, "ImmutableConst": immutable, "ParallelConcat": parallel_concat}
GENERATORS |= {"RefSelect": ref_select}
GENERATORS |= {op: slice_assign for op in ("StridedSliceAssign", "ResourceStridedSliceAssign")}
GENERATORS |= {op: watched for op in "DebugIdentity DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary".split()}
