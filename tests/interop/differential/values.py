"""Random shapes and arrays: zeros and ones among the dimensions, extremes among the values."""

import numpy as np
import tensorflow as tf

BFLOAT16 = tf.bfloat16.as_numpy_dtype
WORDS = [b"", b"a", b"abc", b" pad ", b"A,b,,c", b"12", b"-3.5", b"1e3", "gr\u00fc\u00df".encode(), b"\xff\x00\xfe", b"x" * 17, b"nan", b"left right"]


def limits(dtype):
    """Smallest normal, largest and a denormal number of a float type."""
    if dtype == BFLOAT16:
        return 2.0**-126, 3.3895314e38, 2.0**-130
    info = np.finfo(dtype)
    return float(info.tiny), float(info.max), float(info.tiny) / 8


def shape(rng, min_rank=0, max_rank=4, zeros=True):
    """A shape of a few elements; a dimension is 1 in one case of five, 0 in one of sixteen."""
    rank = int(rng.integers(min_rank, max_rank + 1))
    dims = []
    for _ in range(rank):
        p = rng.random()
        dims.append(0 if zeros and p < 0.06 else 1 if p < 0.25 else int(rng.integers(2, 6)))
    return tuple(dims)


def floats(rng, dtype, shape, profile):
    """`plain`: about 1. `wide`: all magnitudes. `special`: with NaN, infinities, zeros, denormals, extremes. `unit`: in (-1, 1). `positive`."""
    plain = rng.normal(0, 2, shape)
    if profile == "unit":
        plain = rng.uniform(-0.999, 0.999, shape)
    elif profile == "positive":
        plain = np.abs(plain) + 0.01
    elif profile == "whole":
        plain = np.round(plain * 3)
    elif profile == "wide":
        top = np.log10(limits(dtype)[1]) - 1
        plain = np.sign(plain) * 10 ** rng.uniform(-min(top, 30), min(top, 30), shape)
    values = np.asarray(plain).astype(dtype)
    if profile in ("special", "nonfinite") and values.size:
        tiny, top, denormal = limits(dtype)
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0]
        if profile == "special":
            special += [tiny, -tiny, top, -top, denormal, -denormal, 1.0, -1.0, 0.5]
        mask = rng.random(shape) < 0.4
        values = np.where(mask, rng.choice(np.array(special), shape).astype(dtype), values).astype(dtype)
    return values


def integers(rng, dtype, shape, profile):
    info = np.iinfo(dtype)
    if profile in ("wide", "special"):
        values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        extremes = np.array([info.min, info.max, 0, 1, info.max - 1], dtype=dtype)
        return np.where(rng.random(shape) < 0.3, rng.choice(extremes, shape), values).astype(dtype)
    low = 0 if info.min == 0 or profile == "positive" else -9
    values = rng.integers(low, 10, shape)
    return np.where(values == 0, 1, values).astype(dtype) if profile == "positive" else values.astype(dtype)


def array(rng, dtype, shape, profile="plain"):
    """An array of a TensorFlow type."""
    dtype = tf.as_dtype(dtype)
    if dtype == tf.string:
        out = np.empty(shape, object)
        for i in np.ndindex(out.shape):
            out[i] = WORDS[rng.integers(len(WORDS))]
        return out
    np_type = dtype.as_numpy_dtype
    if dtype == tf.bool:
        return rng.random(shape) < 0.5
    if dtype.is_complex:
        part = np.float32 if dtype == tf.complex64 else np.float64
        out = np.empty(shape, np_type)
        out.real, out.imag = floats(rng, part, shape, profile), floats(rng, part, shape, profile)
        return out
    if dtype.is_floating:
        return floats(rng, np_type, shape, profile)
    return integers(rng, np_type, shape, profile)


def flush_denormals(a):
    """The array with denormal numbers replaced by zeros of the same sign, as TensorFlow's threads see it."""
    if not isinstance(a, np.ndarray) or a.dtype == object:
        return a
    if a.dtype.kind == "c":
        out = a.copy()
        out.real, out.imag = flush_denormals(np.ascontiguousarray(a.real)), flush_denormals(np.ascontiguousarray(a.imag))
        return out
    if a.dtype.kind != "f" and a.dtype != BFLOAT16:
        return a
    tiny = limits(a.dtype.type)[0]
    wide = a.astype(np.float64)
    return np.where(np.abs(wide) < tiny, np.copysign(0.0, wide), wide).astype(a.dtype)
