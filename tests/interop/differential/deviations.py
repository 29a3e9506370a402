"""Accepted differences, each with its reason: TensorFlow has a bug there, or is nondeterministic.

An entry: the ops, a predicate of the case and both outcomes, and the reason. Any other difference is a failure.
"""

import numpy as np

from . import compare, values


def first_type(case):
    return case.types.split(",")[0]


def any_input(case, test):
    return any(test(a) for a in case.arrays())


def nothing_to_do(case, ours, theirs):
    """TensorFlow returns early if a result has no elements, before it validates the rest."""
    return not theirs.error and ours.error == "InvalidArgumentError" and all(np.size(v) == 0 or np.size(v) == np.size(case.inputs[0]) for v in theirs.values if v is not None)


def only_at_denormals(case, ours, theirs):
    x = case.inputs[0]
    same = compare.close_enough(case, x.dtype.name, compare.wide(ours), compare.wide(theirs))
    return bool(np.all(same | (values.flush_denormals(x) != x)))


def flushed_between(case, ours, theirs):
    """TensorFlow has zero or NaN wherever the two differ."""
    same = compare.close_enough(case, ours.dtype.name, compare.wide(ours), compare.wide(theirs))
    return bool(np.all(same | (theirs == 0) | np.isnan(theirs.astype(np.complex128))))


def differs_at_infinity(case, ours, theirs):
    """Wherever the two differ, one of them is infinite."""
    same = compare.close_enough(case, ours.dtype.name, compare.wide(ours), compare.wide(theirs))
    return bool(np.all(same | np.isinf(compare.wide(ours)) | np.isinf(compare.wide(theirs))))


def stride_past_window(case, ours, theirs):
    """SAME padding with a stride larger than the window."""
    attr = case.attrs.get("ksize") or case.attrs.get("ksizes")
    size = attr[1:4] if attr else case.inputs[1].shape[:3]
    return case.attrs["padding"] == "SAME" and any(s > k for s, k in zip(case.attrs["strides"][1:4], size))


def only_scratch_differs(case, ours, theirs):
    """The results are equal; reserved outputs of a forward pass for its gradient are implementation-defined."""
    same = lambda a, b: np.allclose(compare.wide(a), compare.wide(b), rtol=2e-2 if a.dtype.itemsize == 2 else 1e-4, atol=1e-3, equal_nan=True)
    return not ours.error and not theirs.error and all(a.shape == b.shape and same(a, b) for a, b in zip(ours.values[:3], theirs.values[:3]))


DEVIATIONS = [
    (
        {"UnicodeTranscode", "UnicodeDecode", "UnicodeDecodeWithOffsets"},
        lambda c, o, t: c.attrs.get("input_encoding") == "Big5" and not o.error and not t.error,
        "Big5's extensions: WHATWG's table, which we use, has characters where ICU's has the private use area",
    ),
    (
        {"UnicodeTranscode"},
        lambda c, o, t: c.attrs.get("input_encoding") == "UTF-16-LE" and t.error == "InvalidArgumentError" and not o.error,
        "ICU refuses the bytes d8 00 00 61 as UTF-16-LE; they are U+00D8 and U+6100",
    ),
    (
        {f"FusedBatchNorm{kind}{v}" for kind in ("", "Grad") for v in ("", "V2", "V3")},
        only_scratch_differs,
        "the outputs that are kept for the gradient, or are there for their places only, have other shapes with and without oneDNN",
    ),
    (
        {"ResizeBilinear", "ResizeBilinearGrad"},
        lambda c, o, t: not o.error and not t.error and np.allclose(o.values[0], t.values[0], rtol=1e-5, atol=1e-6),
        "TensorFlow's weights are single precision for doubles too",
    ),
    (
        {f"MaxPool{kind}V2" for kind in ("", "Grad", "GradGrad")},
        lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error,
        "sizes of windows that are no vector: TensorFlow takes them flat",
    ),
    (
        {"Cholesky"},
        lambda c, o, t: first_type(c).startswith("complex") and not o.error and np.isnan(o.values[0]).any() and not np.any(t.values[0][np.isnan(o.values[0])]),
        "not positive definite: TensorFlow's is NaN for reals, as ours, but zeros for complex numbers: its NaN for them is 0",
    ),
    ({"Einsum"}, lambda c, o, t: c.mutated and t.error == "InternalError" and o.error == "InvalidArgumentError", "sizes that differ: TensorFlow says Internal where there are no elements"),
    ({"Conv3D", "Conv", "MaxPool3D", "AvgPool3D", "ExtractVolumePatches"}, stride_past_window, "where no padding is needed, TensorFlow without oneDNN pads by a negative amount: it shifts the windows"),
    (
        {"AvgPoolGrad", "AvgPool3DGrad", "FractionalAvgPoolGrad", "FractionalMaxPoolGrad"},
        lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error,
        "gradients and sequences of other shapes: TensorFlow reads as much of them as it needs, or more; we refuse",
    ),
    (
        {"BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2", "LSTMBlockCell", "LSTMBlockCellGrad", "GRUBlockCell", "GRUBlockCellGrad"},
        lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error,
        "weights and states of other shapes: TensorFlow does not look at all of them; we refuse",
    ),
    ({"FractionalMaxPoolGrad"}, lambda c, o, t: "Pooling region has more elements" in t.message, "cells that overlap may have more elements in all than the input"),
    (
        {"CTCLoss", "CTCBeamSearchDecoder"},
        lambda c, o, t: not o.error and not t.error and first_type(c) == "float64" and all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(o.values, t.values)),
        "TensorFlow takes exponentials and logarithms in single precision, for doubles too",
    ),
    ({"CTCLoss"}, lambda c, o, t: c.mutated and (c.inputs[2] >= c.inputs[0].shape[-1] - 1).any(), "a sequence of blanks only: TensorFlow writes beside its matrix"),
    ({"CTCBeamSearchDecoder"}, lambda c, o, t: "spoilt:size" in c.label and not o.error and not t.error, "classes that were doubled are equally probable; which one is found is not specified"),
    ({"Round"}, lambda c, o, t: first_type(c).startswith("int"), "TensorFlow's kernel for whole numbers gives zeros; rounding one is the number itself"),
    ({"ArgMax"}, lambda c, o, t: ",int16," in c.types, "TensorFlow reads an int16 dimension as int32, with what lies beside it in memory"),
    (
        {"PriorityQueue", "PriorityQueueV2"} | {f"Queue{what}{v}" for what in "Close DequeueUpTo Enqueue EnqueueMany IsClosed Size DequeueMany Dequeue".split() for v in ("", "V2")},
        lambda c, o, t: "PriorityQueue up_to" in c.label and t.error == "OutOfRangeError",
        "TensorFlow's priority queue loses what is left when fewer than n remain after closing; ours gives it out, as the other queues do",
    ),
    ({"TensorStridedSliceUpdate"}, nothing_to_do, "an update of nothing: TensorFlow does not look at the value's shape"),
    (
        {f"{op}Grad" for op in "Sigmoid Sqrt Rsqrt Tanh Inv Reciprocal".split()},
        lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error,
        "inputs of different shapes but as many elements: TensorFlow computes on, we refuse",
    ),
    ({"Reverse"}, lambda c, o, t: "first dimension. Found 0" in t.message, "TensorFlow refuses to reverse what is empty, ReverseV2 does not"),
    ({"Mean"}, lambda c, o, t: first_type(c).startswith("complex") and c.inputs[0].size == 0, "the mean of no complex numbers is 0 in TensorFlow and NaN for reals; ours is NaN for both"),
    ({"BroadcastGradientArgs", "BroadcastArgs"}, lambda c, o, t: c.mutated and any_input(c, lambda a: (a < 0).any()), "TensorFlow takes negative numbers for dimensions here"),
    ({"DataFormatDimMap"}, lambda c, o, t: c.mutated and o.error == "InvalidArgumentError", "TensorFlow maps a dimension outside of the format to its last; we refuse it"),
    ({"StatelessRandomUniformFullInt"}, lambda c, o, t: "Invalid seed type" in t.message, "unsigned seeds are in the signature, but TensorFlow's kernel refuses them"),
    ({"TruncateDiv", "TruncateMod"}, lambda c, o, t: t.error == "InternalError" and o.error == "InvalidArgumentError", "division by zero: TensorFlow's own message calls its Internal error unexpected"),
    (
        {"Atan2"},
        lambda c, o, t: not o.error and not t.error and any_input(c, lambda a: (values.flush_denormals(a) != a).any()),
        "denormal numbers: TensorFlow's atan2 of one and 0 is a quarter of pi",
    ),
    ({"Zeta", "Polygamma"}, lambda c, o, t: not o.error and not t.error and (c.inputs[1] < 0).any(), "left of 0 TensorFlow's series loses all digits: zeta(10, -7.57) is 5379, not -769713"),
    (
        {"SigmoidGrad"},
        lambda c, o, t: not o.error and not t.error and differs_at_infinity(c, o.values[0], t.values[0]),
        "a product in between that overflows: TensorFlow multiplies in another order in the last few elements than in its wide loop",
    ),
    ({"Cast"}, lambda c, o, t: c.types == "float64,complex64" and c.attrs.get("Truncate"), "TensorFlow cuts off far too many bits here"),
    ({"Reverse", "ReverseV2"}, lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error, "axes of a scalar or of an empty tensor: TensorFlow does not look at them"),
    ({f"UnsortedSegment{kind}" for kind in ("Sum", "Prod", "Min", "Max")}, nothing_to_do, "segments of nothing: TensorFlow does not look at the ids"),
    ({"StatelessRandomPoisson", "StatelessRandomGammaV2"}, nothing_to_do, "numbers for no places: TensorFlow takes rates that do not fit the shape"),
    ({"EditDistance"}, lambda c, o, t: c.mutated and t.error == "InternalError" and o.error == "InvalidArgumentError", "an index outside: TensorFlow says Internal, as if it were its own fault"),
    (
        {"SparseConcat", "SparseReduceSum", "SparseReduceMax"},
        lambda c, o, t: c.mutated and t.error == "InternalError" and o.error == "InvalidArgumentError",
        "a negative size, an index outside: TensorFlow says Internal, as if it were its own fault",
    ),
    (
        {"RaggedCountSparseOutput", "RaggedBincount", "RaggedCross", "SparseReduceSum", "SparseReduceMax", "RaggedTensorToSparse", "RaggedGather", "RaggedTensorToTensor"},
        lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error,
        "splits that fall, or are no vector, or end too early, an index outside: TensorFlow reads and writes where that leads",
    ),
    ({"SparseReshape"}, lambda c, o, t: c.mutated and o.error == "InvalidArgumentError" and not t.error, "an index outside under the same shape: TensorFlow passes it on"),
    ({"SparseSoftmax"}, lambda c, o, t: c.mutated and not o.error and not t.error, "indices out of order: TensorFlow sorts the values and gives them out sorted"),
    ({"Erf"}, lambda c, o, t: first_type(c) == "float64" and np.isnan(t.values[0]).any(), "TensorFlow's double erf gives NaN for the infinite and the largest; it is 1 and -1"),
    (
        {"FloorDiv"} | {f"{op}Grad" for op in "Sigmoid Sqrt Rsqrt Tanh Inv Reciprocal Softplus Softsign Elu Selu".split()},
        lambda c, o, t: not o.error and not t.error and flushed_between(c, o.values[0], t.values[0]),
        "a product or quotient in between below the smallest normal number: TensorFlow flushes it to zero",
    ),
    (
        {"Log", "Lgamma", "Rsqrt", "Digamma", "Reciprocal", "Inv", "Sqrt", "Log1p"},
        lambda c, o, t: not o.error and not t.error and only_at_denormals(c, o.values[0], t.values[0]),
        "denormal numbers: TensorFlow flushes them to zero, or to its smallest one, by thread and by width of the loop",
    ),
]


def reason(case, ours, theirs):
    return next((why for ops, test, why in DEVIATIONS if case.op in ops and test(case, ours, theirs)), None)
