"""Sets along the last dimension."""

import numpy as np
import tensorflow as tf

from .sparse import coordinates


def members(g, shape):
    return g.array(g.t(), shape, "plain") if g.t() == tf.string else g.ints(0, 6, shape, g.t())


def sparse(g, shape):
    at = coordinates(g, shape, most=9)
    return [at, members(g, (len(at),)), g.of(shape, tf.int64)]


def operation(g):
    outer = g.shape(1, 2, zeros=False)
    first, second = outer + (g.int(1, 4),), outer + (g.int(1, 4),)
    a = [members(g, first)] if g.op.startswith("Dense") else sparse(g, first)
    b = [members(g, second)] if g.op.startswith("DenseToDense") else sparse(g, second)
    return g.case(*a, *b, set_operation=g.pick(["a-b", "b-a", "intersection", "union", "Union"]), validate_indices=g.coin(0.8))


def size(g):
    return g.case(*sparse(g, g.shape(2, 3, zeros=False)), validate_indices=g.coin(0.8))


GENERATORS = {f"{kind}SetOperation": operation for kind in ("DenseToDense", "DenseToSparse", "SparseToSparse")} | {"SetSize": size}
