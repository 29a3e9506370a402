"""Fourier transforms."""

import numpy as np
import tensorflow as tf

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 30, 37]


def inner(g, rank):
    return tuple(g.pick(LENGTHS) for _ in range(rank)) if rank < 3 else tuple(g.int(1, 7) for _ in range(rank))


def complex_transform(rank):
    def generate(g):
        return g.case(g.array(g.t("Tcomplex"), g.shape(0, 2) + inner(g, rank), "plain"), judge="fourier")

    return generate


def same_precision(g):
    g.restrict(Treal=lambda t: True)
    g.types["Tcomplex"] = tf.complex64 if g.t("Treal") == tf.float32 else tf.complex128


def real_transform(rank):
    def generate(g):
        same_precision(g)
        lengths = inner(g, rank)
        more = tuple(n + (g.int(0, 2) if g.coin(0.2) else 0) for n in lengths)
        x = g.array(g.t("Treal"), g.shape(0, 2) + more, "plain")
        return g.case(x, np.array(lengths, np.int32), judge="fourier")

    return generate


def inverse_transform(rank):
    def generate(g):
        same_precision(g)
        lengths = inner(g, rank)
        kept = lengths[:-1] + (lengths[-1] // 2 + 1,)
        more = tuple(n + (g.int(0, 2) if g.coin(0.2) else 0) for n in kept)
        x = g.array(g.t("Tcomplex"), g.shape(0, 2) + more, "plain")
        return g.case(x, np.array(lengths, np.int32), judge="fourier")

    return generate


SIZES = {1: "", 2: "2D", 3: "3D"}
GENERATORS = {f"{op}{name}": complex_transform(rank) for op in ("FFT", "IFFT") for rank, name in SIZES.items()}
GENERATORS |= {f"RFFT{name}": real_transform(rank) for rank, name in SIZES.items()}
GENERATORS |= {f"IRFFT{name}": inverse_transform(rank) for rank, name in SIZES.items()}
