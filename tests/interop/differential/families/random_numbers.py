"""Random numbers: seeded ones agree bit for bit, unseeded ones in shape and type."""

import numpy as np
import tensorflow as tf


def seeds(g):
    """Seeds of a stateful op; both zero (unseeded) in one case of ten."""
    if g.coin(0.1):
        return {"seed": 0, "seed2": 0}, "shape"
    return {"seed": g.int(1, 1 << 40), "seed2": g.int(0, 1 << 40)}, "exact"


def shape_input(g, attr):
    return g.of(g.shape(0, 3), g.t(attr))


def stateful(g):
    attrs, judge = seeds(g)
    return g.case(shape_input(g, "T"), judge=judge if g.op == "RandomUniform" or judge == "shape" else "close", **attrs)


def uniform_int(g):
    attrs, judge = seeds(g)
    low = g.int(-100, 100)
    return g.case(shape_input(g, "T"), g.of(low, g.t("Tout")), g.of(low + g.int(1, 1000), g.t("Tout")), judge=judge, **attrs)


def gamma(g):
    attrs, judge = seeds(g)
    return g.case(shape_input(g, "S"), g.array(g.t(), g.shape(0, 2), "positive"), judge="close" if judge == "exact" else judge, **attrs)


def poisson(g):
    attrs, judge = seeds(g)
    rate = np.abs(g.array(g.t("R"), g.shape(0, 2), "positive")) * g.pick([1, 12])
    return g.case(shape_input(g, "S"), rate.astype(g.t("R").as_numpy_dtype), judge=judge, dtype=g.t("dtype"), **attrs)


def shuffle(g):
    attrs, judge = seeds(g)
    return g.case(g.array(g.t(), g.shape()), judge=judge, **attrs)


def multinomial(g):
    attrs, judge = seeds(g)
    return g.case(g.array(g.t(), (g.int(0, 4), g.int(1, 5)), "plain"), g.of(g.int(0, 6), tf.int32), judge=judge, output_dtype=g.t("output_dtype"), **attrs)


def seed(g):
    return g.ints(0 if g.t("Tseed").is_unsigned else -(1 << 30), 1 << 30, (2,), g.t("Tseed"))


def stateless(g):
    extra = []
    if g.op == "StatelessRandomUniformInt":
        low = g.int(-100, 100)
        extra = [g.of(low, g.t("dtype")), g.of(low + g.int(1, 1000), g.t("dtype"))]
    exact = "Uniform" in g.op
    return g.case(shape_input(g, "T"), seed(g), *extra, judge="exact" if exact else "close", dtype=g.t("dtype"))


def key_counter(g):
    return [g.array(tf.uint64, (1,), "wide"), g.array(tf.uint64, (2,), "wide"), g.of(g.pick([1, 3]), tf.int32)]


def stateless_v2(g):
    extra = []
    if g.op == "StatelessRandomUniformIntV2":
        low = g.int(0, 100)
        extra = [g.of(low, g.t("dtype")), g.of(low + g.int(1, 1000), g.t("dtype"))]
    exact = "Uniform" in g.op
    return g.case(shape_input(g, "Tshape"), *key_counter(g), *extra, judge="exact" if exact else "close", dtype=g.t("dtype"))


def stateless_multinomial(g):
    return g.case(g.array(g.t(), (g.int(0, 4), g.int(1, 5)), "plain"), g.of(g.int(0, 6), tf.int32), seed(g), output_dtype=g.t("output_dtype"))


def stateless_gamma(g):
    alpha = g.array(g.t("dtype"), g.shape(0, 2, zeros=False), "positive")
    return g.case(g.of(g.shape(0, 1) + alpha.shape, g.t()), seed(g), alpha, judge="close")


def stateless_poisson(g):
    lam = np.abs(g.array(g.t("Rtype"), g.shape(0, 2, zeros=False), "positive"))
    return g.case(g.of(g.shape(0, 1) + lam.shape, g.t()), seed(g), lam.astype(g.t("Rtype").as_numpy_dtype), dtype=g.t("dtype"))


def stateless_shuffle(g):
    return g.case(g.array(g.t(), g.shape()), *key_counter(g))


def from_seed(g):
    return g.case(seed(g))


def algorithm(g):
    return g.case()


GENERATORS = {op: stateful for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")}
GENERATORS |= {op: stateless for op in "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal StatelessRandomUniformFullInt StatelessRandomUniformInt".split()}
GENERATORS |= {op + "V2": stateless_v2 for op in "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal StatelessRandomUniformFullInt StatelessRandomUniformInt".split()}
GENERATORS |= {
    "RandomUniformInt": uniform_int, "RandomGamma": gamma, "RandomPoissonV2": poisson, "RandomShuffle": shuffle, "Multinomial": multinomial,
    "StatelessMultinomial": stateless_multinomial, "StatelessRandomGammaV2": stateless_gamma, "StatelessRandomPoisson": stateless_poisson,
    "StatelessShuffle": stateless_shuffle, "StatelessRandomGetKeyCounter": from_seed, "StatelessRandomGetKeyCounterAlg": from_seed,
    "StatelessRandomGetAlg": algorithm,
}  # fmt: skip
