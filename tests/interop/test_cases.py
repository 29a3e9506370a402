"""Every op's cases, computed by Thalweg and by TensorFlow from the same GraphDef."""

import struct

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

tf1 = tf.compat.v1

# Relative tolerance by type: what separates two good implementations that sum or approximate in another order.
TOLERANCE = {np.float16: 4e-3, np.float32: 3e-5, np.float64: 1e-9, np.complex64: 3e-5, np.complex128: 1e-9}
BFLOAT16 = 3e-2

# What TensorFlow registers but no longer runs.
REMOVED = {"TopK"}


def records(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def cases(path):
    """(graph of the case, our results) for each case."""
    items = iter(records(path))
    for graph in items:
        ours = graph_pb2.GraphDef.FromString(next(items))
        yield graph_pb2.GraphDef.FromString(graph), [tf.make_ndarray(n.attr["value"].tensor) for n in ours.node]


def run_tensorflow(graph_def, count):
    graph = tf1.Graph()
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with graph.as_default(), tf1.Session(graph=graph, config=config) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run([f"case:{i}" for i in range(count)])


def difference(ours, theirs):
    """None if equal enough, else what differs."""
    theirs = np.asarray(theirs, dtype=object if ours.dtype == object else None)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, TensorFlow {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return f"type {ours.dtype}, TensorFlow {theirs.dtype}"
    if ours.dtype == object or ours.dtype.kind in "biuS":
        return None if np.array_equal(ours, theirs) else f"{ours!r}, TensorFlow {theirs!r}"
    rtol = TOLERANCE.get(ours.dtype.type, BFLOAT16)
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    if np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True):
        return None
    return f"{a.ravel()[:8]}, TensorFlow {b.ravel()[:8]}"


def test_every_case_agrees_with_tensorflow(case_dump):
    wrong, compared = [], set()
    for graph_def, ours in cases(case_dump):
        node = next(n for n in graph_def.node if n.name == "case")
        if node.op in REMOVED:
            continue
        try:
            theirs = run_tensorflow(graph_def, len(ours))
        except Exception as e:  # TensorFlow refuses what we accept: that is a difference too.
            wrong.append(f"{node.op}: TensorFlow says {type(e).__name__}: {str(e).splitlines()[0][:200]}")
            continue
        compared.add(node.op)
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if (d := difference(a, b)) is not None:
                wrong.append(f"{node.op} output {i}: {d}")
    print(f"{len(compared)} ops compared")
    assert len(compared) > 150
    assert not wrong, "\n".join(wrong)
