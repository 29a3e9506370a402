"""Every op's cases, computed by Thalweg with each instruction set and by TensorFlow from the same GraphDef."""

import struct

import judge
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

tf1 = tf.compat.v1

# Relative tolerance by type, for sums in another order and different approximations.
TOLERANCE = {np.float16: 4e-3, np.float32: 3e-5, np.float64: 1e-9, np.complex64: 3e-5, np.complex128: 1e-9}
BFLOAT16 = 3e-2

# Ops that TensorFlow registers but no longer runs, or takes in old GraphDefs only.
REMOVED = {"TopK"} | set(
    "BatchCholesky BatchCholeskyGrad BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse "
    "BatchMatrixSetDiag BatchMatrixSolve BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd "
    "MatrixExponential SelfAdjointEig AudioSummary QuantizeAndDequantize BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad Conv3DBackpropFilter "
    "Conv3DBackpropInput AdjustContrast TileGrad".split()
)

# Its kernel is oneDNN's, which does not move inputs of different ranges to one: its levels fit none of them. Ours are QuantizedConcat's.
UNSPECIFIED = {"QuantizedConcatV2"}

# Outputs from this index on are reserved for the gradient, or unused: with oneDNN they equal ours, without it they are unspecified.
SCRATCH = {f"FusedBatchNorm{kind}{v}": 3 for kind in ("", "Grad") for v in ("", "V2", "V3")}

# Vectors that were not asked for: TensorFlow declares them as no elements, as ours are, but gives a scalar of uninitialised memory.
NOT_ASKED_FOR = {"Svd", "SelfAdjointEigV2", "Eig"}

# Scalars that TensorFlow leaves uninitialised: the sizes of lists that one example lacks.
UNSET_SCALARS = {"ParseSequenceExampleV2"}

# Cases that TensorFlow may have no kernel for: without oneDNN four and four, of some 650; with it none.
MOST_NOT_JUDGED = 6


def records(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def dumped(path):
    """(graph of the case as bytes, our results, our gradients by name) for each case."""
    items = iter(records(path))
    for graph in items:
        ours, gradients = (graph_pb2.GraphDef.FromString(next(items)) for _ in range(2))
        values = [tf.make_ndarray(n.attr["value"].tensor) for n in ours.node]
        yield graph, values, {n.name: tf.make_ndarray(n.attr["value"].tensor) for n in gradients.node}


def cases(paths):
    """(op, graph, our results by instruction set, our gradients by instruction set) for each case that TensorFlow may run."""
    for group in zip(*map(dumped, paths.values()), strict=True):
        graphs, results, gradients = zip(*group)
        assert len(set(graphs)) == 1, "the cases themselves differ by instruction set"
        graph = graph_pb2.GraphDef.FromString(graphs[0])
        op = next(n for n in graph.node if n.name == "case").op
        if op not in REMOVED | UNSPECIFIED:
            yield op, graph, dict(zip(paths, results)), dict(zip(paths, gradients))


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
    if ours.dtype.names:  # quantised: a field of one number
        ours = ours[ours.dtype.names[0]]
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


class Report:
    """Results of the cases: differences, cases without a kernel in TensorFlow, and the ops that were compared."""

    def __init__(self):
        self.wrong, self.not_judged, self.compared = [], [], set()

    def refused(self, op, e):
        """TensorFlow rejects what we accept: a difference, unless it has no kernel."""
        kind, text = type(e).__name__, judge.said(e)
        into = self.not_judged if judge.has_no_kernel(kind, text) else self.wrong
        into.append(f"{op}: TensorFlow says {kind}: {text}")

    def check(self):
        print(f"{len(self.compared)} ops compared, not judged:", *self.not_judged, sep="\n")
        assert len(self.compared) > 150
        assert not self.wrong, "\n".join(self.wrong)
        # The fused quantised ops have kernels of oneDNN only, and are judged with it.
        others = [case for case in self.not_judged if judge.has_onednn() or "Missing 0-th output" not in case]
        assert len(others) <= MOST_NOT_JUDGED, "\n".join(others)


def test_every_case_agrees_with_tensorflow(case_dumps):
    report = Report()
    for op, graph_def, ours, _ in cases(case_dumps):
        count = len(next(iter(ours.values())))
        try:
            theirs = run_tensorflow(graph_def, count)
        except Exception as e:  # noqa: BLE001  (any class)
            report.refused(op, e)
            continue
        report.compared.add(op)
        compared = count if judge.has_onednn() else SCRATCH.get(op, count)
        for isa, results in ours.items():
            for i, (a, b) in enumerate(zip(results[:compared], theirs)):
                if (op in NOT_ASKED_FOR and a.shape == (0,)) or (op in UNSET_SCALARS and a.shape == ()):
                    continue
                if (d := difference(a, b)) is not None:
                    report.wrong.append(f"{op} output {i}, {isa}: {d}")
    report.check()


# Where `tf.gradients` is wrong, fails, or is None; ours agree with finite differences (crates/runtime/tests/every_op/gradients.rs).
GRADIENTS_DIFFER = {
    "Betainc": "fails in Python where x is broadcast",
    "BlockLSTMV2": "takes the gradient op of BlockLSTM, whose gates are in another order",
    "ConcatV2": "fails in Python for an int64 axis",
    "DepthwiseConv2dNative": "its gradient kernels ignore dilations",
    "GatherNd": "fails for indices of no columns",
    "IsotonicRegression": "fails in Python for a vector",
    "MatrixDiagPartV2": "puts several diagonals back aligned as V3 aligns them",
    "MaxPoolGrad": "gives zeros where the results given are not those of the images",
    "MaxPoolGradV2": "gives zeros where the results given are not those of the images",
    "MaxPoolWithArgmax": "has a kernel for int64 indices only",
    "QuantizeAndDequantizeV4Grad": "fails in Python: its rule takes too few arguments",
    "RFFT": "fails in Python where a part of the input is not transformed",
    "ResizeBilinearGrad": "stops here",
    "SoftmaxCrossEntropyWithLogits": "leaves out the second output's part in the labels' gradient, and fails where the labels are broadcast",
    "SparseToDense": "fails for indices given as a vector or number",
    "TopKV2": "fails in Python for int64 indices",
}


# TensorFlow's gradients of these are uninitialised memory where there are no segments; ours are zeros.
UNINITIALISED = {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}


def gradients_of_tensorflow(graph_def, ours):
    """`tf.gradients` of the inputs that we have gradients of, with the same output gradients."""
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


def gradient_difference(op, got, want):
    """None if equal enough, else what differs."""
    if got is None or want is None:
        # None and zeros are equivalent.
        there = got if want is None else want
        if there is None or not np.any(there):
            return None
        return f"{'there is no gradient' if got is None else 'TensorFlow has none'}, should be {there.ravel()[:8]}"
    if op in UNINITIALISED and not np.any(got):
        return None
    return difference(got, want)


def test_every_gradient_agrees_with_tf_gradients(case_dumps):
    report, missing, differ = Report(), set(), set()
    for op, graph_def, _, ours in cases(case_dumps):
        seeds, *others = [{n: g for n, g in gradients.items() if n.startswith("seed_")} for gradients in ours.values()]
        if not seeds:
            continue
        assert all(np.array_equal(s[n], seeds[n]) for s in others for n in seeds), f"{op}: the seeds differ by instruction set"
        try:
            theirs = gradients_of_tensorflow(graph_def, next(iter(ours.values())))
        except LookupError:
            missing.add(op)
            continue
        except Exception as e:  # noqa: BLE001  (any class)
            differ.add(op) if op in GRADIENTS_DIFFER else report.refused(op, e)
            continue
        report.compared.add(op)
        for isa, gradients in ours.items():
            for i, want in theirs.items():
                if (d := gradient_difference(op, gradients.get(f"gradient_{i}"), want)) is not None:
                    differ.add(op) if op in GRADIENTS_DIFFER else report.wrong.append(f"{op} input {i}, {isa}: {d}")
    print(f"TensorFlow has no gradient for {sorted(missing)}")
    report.check()
    assert differ == set(GRADIENTS_DIFFER), set(GRADIENTS_DIFFER) - differ
