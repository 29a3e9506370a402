"""Products, matrix parts, and the layers of networks."""

import numpy as np
import tensorflow as tf

ALIGN = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]


def factors(g, batch_a, batch_b, adjoint_a, adjoint_b, types):
    m, k, n = (0 if g.coin(0.05) else g.int(1, 12) for _ in range(3))
    a = batch_a + ((k, m) if adjoint_a else (m, k))
    b = batch_b + ((n, k) if adjoint_b else (k, n))
    profile = g.profile("plain", "plain", "whole", "nonfinite") if types[0].is_floating else "plain"
    return g.array(types[0], a, profile), g.array(types[1], b, profile)


def mat_mul(g):
    ta, tb = g.coin(), g.coin()
    return g.case(*factors(g, (), (), ta, tb, (g.t(), g.t())), transpose_a=ta, transpose_b=tb, judge="sum")


def batch_mat_mul(g):
    adj_x, adj_y = g.coin(), g.coin()
    types = (g.t("Ta"), g.t("Tb")) if g.op == "BatchMatMulV3" else (g.t(), g.t())
    batch = (g.shape(0, 2),) * 2 if g.op == "BatchMatMul" else g.broadcast_pair(2)
    return g.case(*factors(g, *batch, adj_x, adj_y, types), adj_x=adj_x, adj_y=adj_y, judge="sum")


def diag(g):
    return g.case(g.array(g.t(), g.shape(1, 2)))


def diag_part(g):
    half = g.shape(1, 2)
    return g.case(g.array(g.t(), half + half))


def band_part(g):
    shape = g.shape(2, 4)
    m, n = shape[-2:]
    return g.case(g.array(g.t(), shape), g.ints(-1, m, (), g.t("Tindex")), g.ints(-1, n, (), g.t("Tindex")))


def matrix_diag(g):
    return g.case(g.array(g.t(), g.shape(1, 3)))


def matrix_shape(g):
    return g.shape(0, 2, zeros=False) + (g.int(1, 5), g.int(1, 5))


def matrix_diag_part(g):
    return g.case(g.array(g.t(), matrix_shape(g)))


def matrix_set_diag(g):
    shape = matrix_shape(g)
    return g.case(g.array(g.t(), shape), g.array(g.t(), shape[:-2] + (min(shape[-2:]),)))


def band(g, rows, columns):
    """Which diagonals: one or a range, and the size they are stored in."""
    low = g.int(-rows + 1, columns - 1)
    high = g.int(low, columns - 1) if g.coin() else low
    length = min(rows + min(high, 0), columns - max(low, 0))
    k = g.of(low, tf.int32) if low == high and g.coin() else g.of([low, high], tf.int32)
    stored = (length,) if low == high else (high - low + 1, length)
    return k, stored


def align(g):
    return {"align": g.pick(ALIGN)} if g.op.endswith("V3") else {}


def matrix_diag_part_band(g):
    shape = matrix_shape(g)
    return g.case(g.array(g.t(), shape), band(g, *shape[-2:])[0], g.array(g.t(), ()), **align(g))


def matrix_set_diag_band(g):
    shape = matrix_shape(g)
    k, stored = band(g, *shape[-2:])
    return g.case(g.array(g.t(), shape), g.array(g.t(), shape[:-2] + stored), k, **align(g))


def matrix_diag_band(g):
    rows, columns = g.int(1, 5), g.int(1, 5)
    k, stored = band(g, rows, columns)
    given = g.coin(0.7)
    size = [g.of(rows if given else -1, tf.int32), g.of(columns if given else -1, tf.int32)]
    return g.case(g.array(g.t(), g.shape(0, 2, zeros=False) + stored), k, *size, g.array(g.t(), ()), **align(g))


def bias_add(g):
    form = g.pick(["NHWC", "NCHW"]) if g.op != "BiasAddV1" else "NHWC"
    shape = g.shape(3 if form == "NCHW" else 2, 4)
    channels = shape[1] if form == "NCHW" else shape[-1]
    attrs = {} if g.op == "BiasAddV1" else {"data_format": form}
    return g.case(g.array(g.t(), shape, "plain"), g.array(g.t(), (channels,), "plain"), **attrs)


def bias_add_grad(g):
    form = g.pick(["NHWC", "NCHW"])
    return g.case(g.array(g.t(), g.shape(3 if form == "NCHW" else 2, 4), "plain"), data_format=form, judge="sum")


def logits(g):
    return g.array(g.t(), g.shape(1, 3, zeros=g.coin(0.1)), g.profile("plain", "whole"))


def softmax(g):
    return g.case(logits(g), judge="softmax")


def cross_entropy(g):
    shape = (g.int(1, 4), g.int(1, 6))
    labels = np.abs(g.array(g.t(), shape, "plain"))
    if g.coin(0.2):
        labels = labels[:1]
    return g.case(g.array(g.t(), shape, "plain"), labels, judge="softmax")


def sparse_cross_entropy(g):
    n, classes = g.int(1, 4), g.int(1, 6)
    return g.case(g.array(g.t(), (n, classes), "plain"), g.ints(0, classes - 1, (n,), g.t("Tlabels")), judge="softmax")


def in_top_k(g):
    n, classes = g.int(0, 4), g.int(1, 6)
    k = g.int(1, classes)
    inputs = [g.array(tf.float32, (n, classes), g.profile("plain", "whole", "nonfinite")), g.ints(-1, classes, (n,), g.t())]
    return g.case(*inputs, k=k) if g.op == "InTopK" else g.case(*inputs, g.of(k, g.t()))


def nth_element(g):
    shape = g.shape(1, 3, zeros=False)
    return g.case(g.array(g.t(), shape, g.profile("plain", "whole")), g.of(g.int(0, shape[-1] - 1), tf.int32), reverse=g.coin())


def top_k(g):
    shape = g.shape(1, 3, zeros=False)
    k = g.int(0, shape[-1])
    x = g.array(g.t(), shape, g.profile("plain", "whole", "wide"))
    if g.op == "TopK":
        return g.case(x, k=k)
    return g.case(x, g.of(k, g.t("Tk")), sorted=True, index_type=g.t("index_type"))


PLAIN = {"Diag": diag, "DiagPart": diag_part, "MatrixBandPart": band_part, "MatrixDiag": matrix_diag, "MatrixDiagPart": matrix_diag_part, "MatrixSetDiag": matrix_set_diag}
BANDS = {f"Matrix{what}{v}": make for v in ("V2", "V3") for what, make in (("Diag", matrix_diag_band), ("DiagPart", matrix_diag_part_band), ("SetDiag", matrix_set_diag_band))}
LAYERS = {
    "BiasAdd": bias_add, "BiasAddV1": bias_add, "BiasAddGrad": bias_add_grad, "Softmax": softmax, "LogSoftmax": softmax,
    "SoftmaxCrossEntropyWithLogits": cross_entropy, "SparseSoftmaxCrossEntropyWithLogits": sparse_cross_entropy, "InTopK": in_top_k,
    "InTopKV2": in_top_k, "NthElement": nth_element, "TopK": top_k, "TopKV2": top_k,
}  # fmt: skip
GENERATORS = {"MatMul": mat_mul} | {op: batch_mat_mul for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")} | PLAIN | BANDS | LAYERS
