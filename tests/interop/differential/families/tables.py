"""Lookup tables: create, insert, find, remove, export."""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from .. import kernels

tf1 = tf.compat.v1
raw = tf.raw_ops


def after(ops, make):
    with tf1.control_dependencies(ops):
        return make()


def keys_of(g, dtype, n):
    """Keys without repetition."""
    if dtype == tf.string:
        out = np.empty(n, object)
        out[:] = [b"key%d" % i for i in g.rng.permutation(20)[:n]]
        return out
    return g.of(g.rng.permutation(20)[:n], dtype)


def wanted(g, keys):
    """Keys to look up, some of them missing."""
    pool = np.concatenate([keys, keys_of(g, tf.string if keys.dtype == object else tf.as_dtype(keys.dtype), 4)])
    return np.asarray(pool[g.rng.integers(0, len(pool), g.shape(1, 2))], pool.dtype)


def table(g):
    fixed = g.op in ("HashTableV2", "InitializeTableV2")
    kind = "HashTableV2" if fixed else g.op if g.op.startswith("Mutable") else g.pick(["MutableHashTableV2", "MutableHashTableOfTensorsV2"])
    pair = g.pick(kernels.combinations(kind))
    key, value = pair["key_dtype"], pair["value_dtype"]
    n, inner = g.int(0, 5), (g.int(1, 3),) if "OfTensors" in kind else ()
    keys = keys_of(g, key, n)
    inputs = [keys, g.array(value, (n,) + inner, "plain"), np.asarray(wanted(g, keys)), g.array(value, inner, "plain")]
    removed = keys[: g.int(0, n)]

    def build(t):
        attrs = {"value_shape": inner} if inner else {}
        handle = getattr(raw, kind)(key_dtype=key, value_dtype=value, shared_name=g.name(), container="", **attrs)
        fill = raw.InitializeTableV2 if fixed else raw.LookupTableImportV2 if g.op == "LookupTableImportV2" else raw.LookupTableInsertV2
        filled = fill(table_handle=handle, keys=t[0], values=t[1])
        out = [after([filled], lambda: raw.LookupTableSizeV2(table_handle=handle))]
        out.append(after(out, lambda: raw.LookupTableFindV2(table_handle=handle, keys=t[2], default_value=t[3])))
        if g.op == "LookupTableRemoveV2":
            gone = after(list(out), lambda: raw.LookupTableRemoveV2(table_handle=handle, keys=t[4]))
            out.append(after([gone], lambda: raw.LookupTableSizeV2(table_handle=handle)))
            out.append(after([gone], lambda: raw.LookupTableFindV2(table_handle=handle, keys=t[2], default_value=t[3])))
        if g.op == "LookupTableExportV2" and n:
            # The order is unspecified: compare sorted by key, through the position of each key looked up.
            listed, values = after([out[0]], lambda: raw.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value))
            same = raw.Equal(x=tf.expand_dims(t[0], 1), y=tf.expand_dims(listed, 0))
            order = raw.ArgMax(input=raw.Cast(x=same, DstT=tf.int32), dimension=1)
            out += [raw.GatherV2(params=listed, indices=order, axis=0), raw.GatherV2(params=values, indices=order, axis=0)]
        return out

    case = g.program(build, *inputs, removed, label=kind)
    case.types = f"{key.name},{value.name}"
    return case


def from_file(g):
    """A table from the lines of a file that both sides can read."""
    lines = [f"w{i}\t{int(v)}\tx" for i, v in enumerate(g.rng.integers(0, 99, g.int(1, 5)))]
    by_line = g.coin()
    size = -1 if g.coin() else len(lines)

    def build(t):
        fd, path = tempfile.mkstemp(prefix="differential_")
        os.close(fd)
        pathlib.Path(path).write_text("\n".join(lines) + "\n")
        handle = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=g.name(), container="")
        columns = {"key_index": -2 if by_line else 0, "value_index": -1 if by_line else 1}
        filled = raw.InitializeTableFromTextFileV2(table_handle=handle, filename=tf.constant(path), vocab_size=size, **columns)
        asked = tf.constant([lines[0], "w0", "none"])
        size_op = after([filled], lambda: raw.LookupTableSizeV2(table_handle=handle))
        return [size_op, after([filled], lambda: raw.LookupTableFindV2(table_handle=handle, keys=asked, default_value=tf.constant(-5, tf.int64)))]

    return g.program(build)


TABLE_OPS = "HashTableV2 InitializeTableV2 MutableHashTableV2 MutableHashTableOfTensorsV2 LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2 LookupTableSizeV2".split()
GENERATORS = {op: table for op in TABLE_OPS} | {"InitializeTableFromTextFileV2": from_file}
