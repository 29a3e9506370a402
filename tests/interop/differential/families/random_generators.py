"""Random numbers by the state in a variable, of distributions with parameters, samplers by frequency."""

import numpy as np
import tensorflow as tf

from .random_numbers import key_counter, seed, seeds, shape_input
from .state import after, resource

raw = tf.raw_ops


def by_state(g):
    """The numbers, and the state afterwards."""
    state = g.ints(-(1 << 40), 1 << 40, (3,), tf.int64)
    if g.op == "StatefulStandardNormal":
        g.restrict(dtype=lambda t: t == tf.float32)
    names = {a.name for a in g.definition.attr}
    attrs = {n: g.t(n) for n in names if n in g.types}
    if "shape_dtype" in names:
        attrs["shape_dtype"] = g.pick([tf.int32, tf.int64])
    extra = []
    if g.op == "StatefulUniformInt":
        low = g.int(-100, 100)
        extra = [g.of(low, g.t("dtype")), g.of(low + g.int(1, 1000), g.t("dtype"))]
    shape = g.of(g.shape(0, 3), attrs.get("shape_dtype", tf.int64))
    algorithm = g.pick([1, 1, 1, 3])

    def build(t):
        handle, ready = resource(g, tf.int64, [3], t[0])

        def run():
            if g.op in ("RngSkip", "RngReadAndSkip"):
                last = {"algorithm": algorithm, "delta": 5} if g.op == "RngSkip" else {"alg": algorithm, "delta": tf.constant(5, tf.uint64)}
                return getattr(raw, g.op)(resource=handle, **last)
            more = {"minval": t[2], "maxval": t[3]} if extra else {"dtype": attrs["dtype"]}
            return getattr(raw, g.op)(resource=handle, algorithm=algorithm, shape=t[1], **more)

        drawn = after([ready], run)
        read = after([drawn], lambda: raw.ReadVariableOp(resource=handle, dtype=tf.int64))
        return [read] if g.op == "RngSkip" else [drawn, read]

    exact = "Uniform" in g.op or g.op.startswith("Rng")
    return g.program(build, state, shape, *extra, judge="exact" if exact else "close")


def binomial_parameters(g):
    a, b = g.broadcast_pair(2)
    counts = np.abs(g.array(tf.float64, a, "whole")) * g.pick([1, 20])
    probs = g.rng.uniform(-0.1, 1.1, b)
    return np.broadcast_shapes(a, b), g.of(counts, g.t()), g.of(probs, g.t())


def stateless_binomial(g):
    if 0 in (parameters := binomial_parameters(g))[0]:
        parameters = ((), g.of(7, g.t()), g.of(0.3, g.t()))
    batch, counts, probs = parameters
    return g.case(g.of(g.shape(0, 2) + batch, g.t("S")), seed(g), counts, probs, dtype=g.t("dtype"))


def stateful_binomial(g):
    g.restrict(S=lambda t: t == tf.int32)  # int64 aborts TensorFlow's process
    counts, probs = g.of(g.int(1, 60), g.t()), g.of(g.rng.uniform(0, 1), g.t())
    state = g.ints(-(1 << 40), 1 << 40, (3,), tf.int64)
    shape, dtype = g.of((g.int(1, 4),), g.t("S")), g.t("dtype")

    def build(t):
        # A buffer of its own: TensorFlow reads the state of a shared one after it was freed.
        handle, ready = resource(g, tf.int64, [3], t[0] * 1)
        drawn = after([ready], lambda: raw.StatefulRandomBinomial(resource=handle, algorithm=1, shape=t[1], counts=t[2], probs=t[3], dtype=dtype))
        return [drawn, after([drawn], lambda: raw.ReadVariableOp(resource=handle, dtype=tf.int64))]

    return g.program(build, state, shape, counts, probs)


def bounds(g):
    """Mean, deviation, and bounds on both sides, on one side of the mean, or only one."""
    low, high = g.pick([(-1.0, 1.0), (-3.0, 2.0), (2.0, 4.0), (2.0, 2.2), (-5.0, -3.0), (-np.inf, 1.0), (0.5, np.inf)])
    return 0.25, 1.5, low, high


def truncated(g):
    attrs, judge = seeds(g)
    shape = g.shape(1, 3, zeros=False)
    parameters = [g.of(p if i > 1 or g.coin() else [p] * g.pick([1, shape[0]]), g.t("dtype")) for i, p in enumerate(bounds(g))]
    return g.case(g.of(shape, g.t("T")), *parameters, judge="coarse" if judge == "exact" else judge, **attrs)


def stateless_truncated(g):
    batch = g.shape(0, 2, zeros=False)
    parameters = [g.of(np.broadcast_to(p, g.pick([batch, ()])), g.t("dtype")) for p in bounds(g)]
    return g.case(g.of(g.shape(0, 1) + batch, g.t("S")), seed(g), *parameters, judge="coarse")


def gamma_v3(g):
    g.restrict(dtype=lambda t: t != tf.bfloat16)
    alpha = g.array(g.t("dtype"), g.shape(0, 2, zeros=False), "positive")
    return g.case(g.of(g.shape(0, 1) + alpha.shape, g.pick([tf.int32, tf.int64])), *key_counter(g), alpha, judge="close")


def index_shuffle(g):
    n, dtype = g.int(1, 6), g.t("dtype")
    most = g.int(1, g.pick([10, 70000, (1 << 31) - 1]))
    index, limit = g.ints(0, most, g.pick([(), (n,)]), dtype), g.of(most, dtype)
    key = g.ints(0, 1 << 30, g.pick([(3,)] + ([(n, 3)] if index.shape else [])), g.pick([tf.int32, tf.int64, tf.uint32, tf.uint64]))
    return g.case(index, key, limit, rounds=g.pick([4, 4, 6, 8]))


def sobol(g):
    return g.case(*(g.of(n, tf.int32) for n in (g.int(1, 40), g.int(1, 30), g.pick([0, g.int(0, 100000)]))), dtype=g.t("dtype"))


def stochastic_cast(g):
    # Of numbers between two whole ones, TensorFlow's bits depend on the width of its vectors.
    x = g.array(g.t("Tin"), g.shape(), g.pick(["whole", "plain"]))
    whole = bool(np.all(x == np.floor(x.astype(np.float64))))
    return g.case(x, *key_counter(g), Tout=g.t("Tout"), judge="exact" if whole else "shape")


def sampler(g):
    attrs, judge = seeds(g)
    num_true, range_max = g.int(1, 3), g.int(2, 20)
    attrs |= {"num_true": num_true, "unique": g.coin(), "num_sampled": g.int(1, range_max)}
    if g.op == "AllCandidateSampler":
        range_max, judge = attrs["num_sampled"], "exact"
    else:
        attrs["range_max"] = range_max
    if g.op == "FixedUnigramCandidateSampler":
        reserved = g.int(0, 1)
        attrs["unigrams"] = [float(x) for x in g.rng.uniform(0.5, 9, range_max - reserved)]
        attrs |= {"num_reserved_ids": reserved, "distortion": g.pick([1.0, 0.5, 0.75])}
        attrs["num_sampled"] = min(attrs["num_sampled"], range_max - reserved)
    return g.case(g.ints(0, range_max - 1, (g.int(0, 3), num_true), tf.int64), judge="close" if judge == "exact" else judge, **attrs)


def unforeseen(g):
    return g.case(g.of(g.shape(0, 3), tf.int64), judge="shape", dtype=g.t("dtype"), shape_dtype=tf.int64)


def removed(g):
    """Ops that current GraphDefs may not have: both sides refuse, or TensorFlow does."""
    if g.op == "RandomCrop":
        return g.case(g.array(g.t(), (4, 5, 2)), g.of([2, 3], tf.int64), seed=3, seed2=5)
    if g.op == "RandomPoisson":
        return g.case(shape_input(g, "S"), g.array(g.t("dtype"), (2,), "positive"), seed=3, seed2=5)
    return by_state_v1(g)


def by_state_v1(g):
    dtype = g.t("dtype")

    def build(t):
        handle, ready = resource(g, tf.int64, [4], t[0])
        return [after([ready], lambda: raw.StatefulStandardNormal(resource=handle, shape=t[1], dtype=dtype))]

    return g.program(build, g.of([1, 5, 6, 7], tf.int64), g.of([3], tf.int64), judge="close")


GENERATORS = {op: by_state for op in "StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniformFullInt StatefulUniformInt RngSkip RngReadAndSkip".split()}
GENERATORS |= {op: removed for op in "RandomCrop RandomPoisson StatefulStandardNormal".split()}
GENERATORS |= {op: sampler for op in "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler".split()}
GENERATORS |= {
    "StatelessRandomBinomial": stateless_binomial, "StatefulRandomBinomial": stateful_binomial, "ParameterizedTruncatedNormal": truncated,
    "StatelessParameterizedTruncatedNormal": stateless_truncated, "StatelessRandomGammaV3": gamma_v3, "RandomIndexShuffle": index_shuffle,
    "SobolSample": sobol, "StochasticCastToInt": stochastic_cast, "NonDeterministicInts": unforeseen,
}  # fmt: skip
