"""Compares how thousands of random arrays are printed with how numpy prints them.

python check_text_with_numpy.py SHOW [COUNT] [SEED], where SHOW is the built example `show` of thalweg-io.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

TYPES = ["f2", "f4", "f8", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "S6"]


def floats(rng, dtype, n):
    kind = rng.integers(8)
    if kind == 0:
        v = rng.normal(size=n)
    elif kind == 1:
        v = rng.integers(-20, 20, n).astype("f8")
    elif kind == 2:
        v = np.round(rng.normal(size=n) * 10, int(rng.integers(0, 4)))
    elif kind == 3:
        v = rng.normal(size=n) * 10.0 ** rng.integers(-12, 12)
    elif kind == 4:
        v = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)
    elif kind == 5:
        v = rng.integers(0, 1 << 16, n) / 64.0
    elif kind == 6:
        v = rng.integers(0, 2**63, n, dtype=np.int64).view("f8")
    else:
        v = np.zeros(n)
    with np.errstate(all="ignore"):
        v = v.astype(dtype)
    if rng.integers(4) == 0 and n:
        v[rng.integers(0, n, 1 + n // 5)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return v


def array(rng):
    dtype = np.dtype(TYPES[rng.integers(len(TYPES))])
    if rng.integers(8) == 0:
        shape = tuple(rng.integers(1, 40, rng.integers(1, 4)))
    else:
        shape = tuple(rng.integers(0 if rng.integers(10) == 0 else 1, 9, rng.integers(0, 5)))
    n = int(np.prod(shape))
    if dtype.kind == "f":
        v = floats(rng, dtype, n)
    elif dtype.kind == "c":
        part = np.dtype("f4" if dtype.itemsize == 8 else "f8")
        v = np.empty(n, dtype)
        v.real, v.imag = floats(rng, part, n), floats(rng, part, n)
    elif dtype.kind == "b":
        v = rng.integers(0, 2, n).astype(dtype)
    elif dtype.kind == "S":
        words = [b"", b"a", b"it's", b'"', b"\xff\n", b"word", b"\\t"]
        v = np.array([words[i] for i in rng.integers(0, len(words), n)], dtype)
    else:
        info = np.iinfo(dtype)
        top = int(min(info.max, 10 ** int(rng.integers(1, 20))))
        low = max(info.min, -top) if rng.integers(2) else 0
        v = rng.integers(low, top, n, dtype=dtype, endpoint=True)
    return v.reshape(shape)


def text(a):
    # TensorFlow returns strings as objects.
    if a.dtype.kind == "S":
        return str(a[()]) if a.shape == () else str(a.astype(object))
    return str(a[()]) if a.shape == () else str(a)


def main():
    show, count, seed = sys.argv[1], int((sys.argv + ["2000"])[2]), int((sys.argv + ["", "0"])[3] or 0)
    rng = np.random.default_rng(seed)
    arrays = [array(rng) for _ in range(count)]
    with tempfile.TemporaryDirectory() as tmp:
        names = [os.path.join(tmp, f"{i}.npy") for i in range(count)]
        for name, a in zip(names, arrays):
            np.save(name, a)
        out = subprocess.run([show], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    shown = out.split("\n\f\n")[:-1]
    assert len(shown) == count, len(shown)
    wrong = [(a, got) for a, got in zip(arrays, shown) if text(a) != got]
    for a, got in wrong[:5]:
        print(a.dtype, a.shape, "numpy:", text(a)[:500], "ours:", got[:500], sep="\n")
    print(f"{count - len(wrong)} of {count} as numpy prints them")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
