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
    """(graph of the case, our results, our gradients by name) for each case."""
    items = iter(records(path))
    for graph in items:
        ours, gradients = (graph_pb2.GraphDef.FromString(next(items)) for _ in range(2))
        values = [tf.make_ndarray(n.attr["value"].tensor) for n in ours.node]
        yield graph_pb2.GraphDef.FromString(graph), values, {n.name: tf.make_ndarray(n.attr["value"].tensor) for n in gradients.node}


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
    for graph_def, ours, _ in cases(case_dump):
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


# Where `tf.gradients` is wrong, fails, or has nothing; ours are what differences say (crates/runtime/tests/every_op/gradients.rs).
GRADIENTS_DIFFER = {
    "ConcatV2": "fails in Python for an int64 axis",
    "DepthwiseConv2dNative": "its gradient kernels ignore dilations",
    "GatherNd": "fails for indices of no columns",
    "MatrixDiagPartV2": "puts several diagonals back aligned as V3 aligns them",
    "MaxPoolGrad": "gives zeros where the results given are not those of the images",
    "MaxPoolGradV2": "gives zeros where the results given are not those of the images",
    "MaxPoolWithArgmax": "has a kernel for int64 indices only",
    "ResizeBilinearGrad": "stops here",
    "SoftmaxCrossEntropyWithLogits": "leaves out the second output's part in the labels' gradient, and fails where the labels are broadcast",
    "SparseToDense": "fails for indices given as a vector or number",
    "TopKV2": "fails in Python for int64 indices",
}


# Their gradients leave memory uninitialised in TensorFlow where there are no segments: what it holds may be anything, and ours are zeros.
UNINITIALISED = {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}


def gradients_of_tensorflow(graph_def, ours):
    """What `tf.gradients` gives for the inputs that we give gradients for, from the same weights of the outputs."""
    graph = tf1.Graph()
    with graph.as_default(), tf1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        node = graph.get_operation_by_name("case")
        outputs = [int(name.removeprefix("seed_")) for name in ours if name.startswith("seed_")]
        inputs = [int(name.rsplit("_", 1)[1]) for name in ours if "gradient_" in name]
        found = tf1.gradients([node.outputs[i] for i in outputs], [node.inputs[i] for i in inputs], [ours[f"seed_{i}"] for i in outputs])
        found = [g if g is None else tf.convert_to_tensor(g) for g in found]
        values = iter(session.run([g for g in found if g is not None]))
        return dict(zip(inputs, [None if g is None else next(values) for g in found]))


def test_every_gradient_agrees_with_tf_gradients(case_dump):
    wrong, compared, missing, differ = [], set(), set(), set()

    def report(op, text):
        differ.add(op) if op in GRADIENTS_DIFFER else wrong.append(f"{op}{text}")

    for graph_def, _, ours in cases(case_dump):
        op = next(n for n in graph_def.node if n.name == "case").op
        if not ours or op in REMOVED:
            continue
        try:
            theirs = gradients_of_tensorflow(graph_def, ours)
        except LookupError:
            missing.add(op)
            continue
        except Exception as e:
            report(op, f": TensorFlow says {type(e).__name__}: {str(e).splitlines()[0][:200]}")
            continue
        compared.add(op)
        for i, want in theirs.items():
            got = ours.get(f"gradient_{i}")
            if got is None or want is None:
                # None and zeros mean the same.
                there = got if want is None else want
                if there is not None and np.any(there):
                    report(op, f" input {i}: {'there is no gradient' if got is None else 'TensorFlow has none'}, should be {there.ravel()[:8]}")
            elif op in UNINITIALISED and not np.any(got):
                continue
            elif (d := difference(got, want)) is not None:
                report(op, f" input {i}: {d}")
    print(f"{len(compared)} ops compared; TensorFlow has no gradient for {sorted(missing)}")
    assert len(compared) > 150
    assert not wrong, "\n".join(wrong)
    assert differ == set(GRADIENTS_DIFFER), set(GRADIENTS_DIFFER) - differ
