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


OLDER = "HashTable MutableHashTable MutableHashTableOfTensors InitializeTable LookupTableExport LookupTableFind LookupTableImport LookupTableInsert LookupTableSize".split()


def table(g):
    """A table of either generation (reference or resource handle), or an anonymous one."""
    v = "" if g.op in OLDER else "V2"
    fixed = g.op.removesuffix(v) in ("HashTable", "InitializeTable") or g.op == "AnonymousHashTable"
    made = g.op.startswith(("Mutable", "Anonymous"))
    kind = g.op if made else f"HashTable{v}" if fixed else g.pick(["MutableHashTable", "MutableHashTableOfTensors"]) + v
    pair = g.pick(kernels.combinations(kind))
    key, value = pair["key_dtype"], pair["value_dtype"]
    n, inner = g.int(0, 5), (g.int(1, 3),) if "OfTensors" in kind else ()
    keys = keys_of(g, key, n)
    inputs = [keys, g.array(value, (n,) + inner, "plain"), np.asarray(wanted(g, keys)), g.array(value, inner, "plain")]
    removed = keys[: g.int(0, n)]

    def build(t):
        attrs = {"value_shape": inner} if inner else {}
        names = {} if "Anonymous" in kind else {"shared_name": g.name(), "container": ""}
        handle = getattr(raw, kind)(key_dtype=key, value_dtype=value, **names, **attrs)

        def op(name):
            return getattr(raw, name + v)

        fill = "InitializeTable" if fixed else "LookupTableImport" if "Import" in g.op else "LookupTableInsert"
        filled = op(fill)(table_handle=handle, keys=t[0], values=t[1])
        out = [after([filled], lambda: op("LookupTableSize")(table_handle=handle))]
        out.append(after(out, lambda: op("LookupTableFind")(table_handle=handle, keys=t[2], default_value=t[3])))
        if g.op == "LookupTableRemoveV2":
            gone = after(list(out), lambda: raw.LookupTableRemoveV2(table_handle=handle, keys=t[4]))
            out.append(after([gone], lambda: raw.LookupTableSizeV2(table_handle=handle)))
            out.append(after([gone], lambda: raw.LookupTableFindV2(table_handle=handle, keys=t[2], default_value=t[3])))
        if "Export" in g.op and n:
            # The order is unspecified: compare sorted by key, through the position of each key looked up.
            listed, values = after([out[0]], lambda: op("LookupTableExport")(table_handle=handle, Tkeys=key, Tvalues=value))
            same = raw.Equal(x=tf.expand_dims(t[0], 1), y=tf.expand_dims(listed, 0))
            order = raw.ArgMax(input=raw.Cast(x=same, DstT=tf.int32), dimension=1)
            out += [raw.GatherV2(params=listed, indices=order, axis=0), raw.GatherV2(params=values, indices=order, axis=0)]
        return out

    case = g.program(build, *inputs, removed, label=kind)
    case.types = f"{key.name},{value.name}"
    return case


def dense_table(g):
    """A dense table: insert, remove, find, and the buckets that it exports, into another table."""
    pair = g.pick([c for c in kernels.combinations("MutableDenseHashTableV2") if c["key_dtype"] != tf.string or c["value_dtype"] != tf.string])
    key, value = pair["key_dtype"], pair["value_dtype"]
    inner, each = (g.int(1, 3),) if g.coin() else (), () if key == tf.string or g.coin(0.7) else (2,)
    n = g.int(0, 6)
    keys = keys_of(g, key, n)
    special = np.array([b"empty", b"deleted"], object) if key == tf.string else g.of([100, 101], key)
    if each:
        keys, special = (np.stack([x, x[::-1]], -1) for x in (keys, special))
    if g.coin(0.1) and n:
        keys[0] = special[g.int(0, 1)]
    asked = np.concatenate([keys[: g.int(0, n)], keys[:1]])
    buckets = g.pick([4, 8, 64, 3]) if g.coin(0.3) else 4

    def build(t):
        v1 = g.op == "MutableDenseHashTable"

        def make():
            names = {} if "Anonymous" in g.op else {"shared_name": g.name(), "container": ""}
            deleted = {} if v1 else {"deleted_key": t[3][1]}
            return getattr(raw, g.op)(empty_key=t[3][0], value_dtype=value, value_shape=inner, initial_num_buckets=buckets, **deleted, **names)

        first = make()
        if v1:  # It cannot be made.
            return [raw.LookupTableSize(table_handle=first)]
        filled = raw.LookupTableInsertV2(table_handle=first, keys=t[0], values=t[1])
        out = [after([filled], lambda: raw.LookupTableSizeV2(table_handle=first))]
        out.append(after(out, lambda: raw.LookupTableFindV2(table_handle=first, keys=t[2], default_value=t[4])))
        gone = after(list(out), lambda: raw.LookupTableRemoveV2(table_handle=first, keys=t[2]))
        out.append(after([gone], lambda: raw.LookupTableSizeV2(table_handle=first)))
        listed, values = after([gone], lambda: raw.LookupTableExportV2(table_handle=first, Tkeys=key, Tvalues=value))
        second = make()
        copied = raw.LookupTableImportV2(table_handle=second, keys=listed, values=values)
        found = after([copied], lambda: raw.LookupTableFindV2(table_handle=second, keys=t[0], default_value=t[4]))
        return out + [listed, found]

    inputs = [keys, g.array(value, (n,) + inner, "plain"), asked, special, g.array(value, inner, "plain")]
    case = g.program(build, *inputs)
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
        v = "V2" if g.op.endswith("V2") else ""

        def op(name):
            return getattr(raw, name + v)

        handle = op("HashTable")(key_dtype=tf.string, value_dtype=tf.int64, shared_name=g.name(), container="")
        columns = {"key_index": -2 if by_line else 0, "value_index": -1 if by_line else 1}
        filled = op("InitializeTableFromTextFile")(table_handle=handle, filename=tf.constant(path), vocab_size=size, **columns)
        asked = tf.constant([lines[0], "w0", "none"])
        size_op = after([filled], lambda: op("LookupTableSize")(table_handle=handle))
        return [size_op, after([filled], lambda: op("LookupTableFind")(table_handle=handle, keys=asked, default_value=tf.constant(-5, tf.int64)))]

    return g.program(build)


TABLE_OPS = "HashTableV2 InitializeTableV2 MutableHashTableV2 MutableHashTableOfTensorsV2 LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2 LookupTableSizeV2".split()
GENERATORS = {op: table for op in TABLE_OPS} | {"InitializeTableFromTextFileV2": from_file}
GENERATORS |= {op: table for op in OLDER + ["AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors"]}
GENERATORS |= {"InitializeTableFromTextFile": from_file}
GENERATORS |= {op: dense_table for op in ("MutableDenseHashTableV2", "MutableDenseHashTable", "AnonymousMutableDenseHashTable")}
