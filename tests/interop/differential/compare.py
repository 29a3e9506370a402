"""Compares two outcomes of a case. TensorFlow is the reference; tolerances, with reasons, are here."""

import numpy as np

from . import values

# Relative tolerance by type for functions that libraries approximate differently (judge "close").
CLOSE = {"float32": 5e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2, "complex64": 1e-5, "complex128": 1e-12}
# Sums in another order (judge "sum"): relative to the magnitude of the summands.
SUM = {"float32": 2e-6, "float64": 4e-15, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 4e-6, "complex128": 1e-14}


def is_float(a):
    return a.dtype.kind in "fc" or a.dtype == values.BFLOAT16


def wide(a):
    """As float64 or complex128."""
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def equal(x, y):
    """Elementwise: the same number, or NaN both. Of complex numbers with NaN in one part, the other part may differ."""
    with np.errstate(all="ignore"):
        return (x == y) | (np.isnan(x) & np.isnan(y))


def relative(x, y):
    """The largest relative difference (of complex numbers: of their distance); infinite where one is finite and the other is not."""
    with np.errstate(all="ignore"):
        off = np.abs(x - y) / np.maximum(np.abs(x), np.abs(y))
    off = np.where(equal(x, y), 0.0, np.where(np.isnan(off), np.inf, off))
    return float(off.max()) if off.size else 0.0


def scale_of(case):
    """The magnitude of the summands: the largest finite input, times the number of elements, squared for products."""
    size = 1.0
    for a in case.arrays():
        if isinstance(a, np.ndarray) and a.dtype != object and a.size:
            sizes = np.abs(wide(a))
            finite = sizes[np.isfinite(sizes)]
            if finite.size:
                size *= max(1.0, float(finite.max()))
    return size


def outputs(case, ours, theirs):
    """(what differs or None, largest relative difference)."""
    worst = 0.0
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs, TensorFlow {len(theirs)}", worst
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a is None and b is None:
            continue
        a, b = np.asarray(a), np.asarray(b)
        what, off = output(case, a, b)
        worst = max(worst, off)
        if what:
            return f"output {i}: {what}", worst
    return None, worst


def output(case, a, b):
    if a.shape != b.shape:
        return f"shape {a.shape}, TensorFlow {b.shape}", 0.0
    if a.dtype != b.dtype and not {a.dtype.kind, b.dtype.kind} <= set("OS"):
        return f"type {a.dtype}, TensorFlow {b.dtype}", 0.0
    if case.judge == "shape":
        return None, 0.0
    if not is_float(a):
        off = np.asarray(a != b)
        return (f"{show(a[off])}, TensorFlow {show(b[off])}", 0.0) if off.any() else (None, 0.0)
    x, y = wide(a), wide(b)
    off = relative(x, y)
    fine = close_enough(case, a.dtype.name, x, y)
    if not fine.all():
        return f"{show(a[~fine])}, TensorFlow {show(b[~fine])} (relative {off:.3g})", off
    if case.judge == "exact" and case.op not in EITHER_ZERO and any(signs_differ(p, q) for p, q in ((x.real, y.real), (x.imag, y.imag))):
        return f"sign of zero: {show(a)}, TensorFlow {show(b)}", off
    return None, off


# The maximum of 0 and -0 depends on the instruction.
EITHER_ZERO = {"Relu", "Relu6", "Maximum", "Minimum", "Max", "Min", "ClipByValue", "SegmentMax", "SegmentMin", "UnsortedSegmentMax", "UnsortedSegmentMin"}


def signs_differ(x, y):
    return np.any(np.signbit(x) != np.signbit(y), where=(x == 0) & (y == 0))


# Judges: the table of tolerances, how much wider, and whether relative to the inputs' size.
JUDGES = {
    "exact": (None, 0, False),
    "close": (CLOSE, 1, False),
    "sum": (SUM, 1, True),
    "loose_sum": (SUM, 4, True),
    "long_sum": (SUM, 8, True),  # convolutions and pools: dozens of products
    "norm": (CLOSE, 20, True),  # means and variances are differences of sums
    "rule": (SUM, 8, True),  # update rules: several roundings, in unspecified order
    "softmax": (CLOSE, 2, True),  # exponentials of differences: an error in the difference is one relative to the logits
    "decomposition": (CLOSE, 40, True),  # dozens of steps, by another algorithm
    "fourier": (CLOSE, 4, True),  # sums of products with roots of unity
    "product": (CLOSE, 8, False),  # dozens of factors in another order
    "coarse": (CLOSE, 2, False),  # TensorFlow rounds to the type after every step
    "minus_one": (CLOSE, 1, "one"),  # TensorFlow takes 1 from exp(x), which leaves few digits near 0; ours keeps them
    "series": (CLOSE, 20, "one"),  # both sides sum long series and recurrences; roots in between
}


# TensorFlow may flush denormals to zero, depending on the thread.
FLUSHED = {"float16": 6.2e-5, "float64": 2.3e-308, "complex128": 2.3e-308}


def close_enough(case, dtype, x, y):
    """Elementwise."""
    table, wider, scaled = JUDGES[case.judge]
    tolerance = table[dtype] * wider if table else 0.0
    floor = tolerance * (1.0 if scaled == "one" else scale_of(case)) if scaled else 0.0
    floor = max(floor, FLUSHED.get(dtype, 1.2e-38))
    with np.errstate(all="ignore"):
        return equal(x, y) | (np.abs(x - y) <= floor + tolerance * np.abs(y))


def show(a):
    return np.array2string(np.ravel(a)[:6], precision=9, max_line_width=200)
