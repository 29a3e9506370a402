"""Searches in sorted rows, the largest elements, isotonic regression, truth, fingerprints."""

import numpy as np
import tensorflow as tf


def bound(g):
    rows, width = g.int(0, 3), g.int(0, 6)
    ordered = np.sort(g.array(g.t(), (rows, width), "plain"), axis=1)
    return g.case(ordered, g.array(g.t(), (rows, g.int(0, 4)), "plain"), out_type=g.t("out_type"))


def nearest(g):
    # Whole numbers: TensorFlow multiplies the squares out.
    size = g.int(1, 4)
    points, centers = (g.of(g.ints(-9, 9, (g.int(1, n), size)), tf.float32) for n in (5, 9))
    return g.case(points, centers, g.of(g.int(0, 10), tf.int64))


def approx_top_k(g):
    g.restrict(T=lambda t: t in (tf.float32, tf.float16, tf.bfloat16))
    shape = g.shape(1, 3)
    return g.case(g.array(g.t(), shape, g.profile("plain", "special")), k=g.int(0, shape[-1]), recall_target=g.pick([0.95, 0.5]))


def isotonic(g):
    return g.case(g.array(g.t(), g.shape(0, 3), "plain"), output_dtype=g.t("output_dtype"), judge="sum")


def to_bool(g):
    return g.case(g.array(g.t(), g.pick([(), (), g.shape()])))


def fingerprint(g):
    shape = g.shape(1, 3)
    return g.case(g.array(g.t(), shape, "plain"), np.array(b"farmhash64", object))


GENERATORS = {"LowerBound": bound, "UpperBound": bound, "ApproxTopK": approx_top_k, "IsotonicRegression": isotonic, "ToBool": to_bool, "NearestNeighbors": nearest, "Fingerprint": fingerprint}
