"""Random numbers, seeded as TensorFlow seeds them."""

from . import _engine
from ._graphs import convert_to_tensor, current_scope, name_scope
from ._op_functions import call

__all__ = ["get_seed", "multinomial", "random_crop", "random_gamma", "random_normal", "random_poisson", "random_shuffle", "random_uniform",
           "truncated_normal"]


def get_seed(op_seed):
    """The two seeds of a random op."""
    seed, seed2 = current_scope().seeds(op_seed)
    return (None, None) if (seed, seed2) == (0, 0) else (seed, seed2)


def _drawn(op, inputs, seed, name=None, **attrs):
    seed, seed2 = current_scope().seeds(seed)
    return call(op, inputs, {"seed": seed, "seed2": seed2, **attrs}, name)


def _shape(shape):
    return convert_to_tensor(shape, dtype_hint="int32", name="shape")


def _scaled(op, default, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default) as scope:
        shape = _shape(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        drawn = _drawn(op, [shape], seed, dtype=dtype)
        return call("AddV2", [drawn * stddev, mean], None, scope)


def random_normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
    return _scaled("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
    return _scaled("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def random_uniform(shape, minval=0, maxval=None, dtype="float32", seed=None, name=None):
    dtype = _engine.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with name_scope(name, "random_uniform") as scope:
        shape = _shape(shape)
        from_zero, to_one = isinstance(minval, int) and minval == 0, isinstance(maxval, int) and maxval == 1
        if not from_zero or not to_one or dtype.is_integer:
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return _drawn("RandomUniformInt", [shape, minval, maxval], seed, scope)
        drawn = _drawn("RandomUniform", [shape], seed, dtype=dtype)
        if from_zero:
            return drawn if to_one else call("Mul", [drawn, maxval])
        return call("AddV2", [drawn * (maxval - minval), minval], None, scope)


def random_shuffle(value, seed=None, name=None):
    return _drawn("RandomShuffle", [value], seed, name)


def random_crop(value, size, seed=None, name=None):
    from ._arrays import shape, slice as slice_

    with name_scope(name, "random_crop") as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, "int32", name="size")
        limit = shape(value) - size + 1
        offset = random_uniform(shape(size), maxval=2 ** 31 - 1, dtype="int32", seed=seed) % limit
        return slice_(value, offset, size, name=scope)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype="int64"):
    with name_scope(name, "multinomial"):
        return _drawn("Multinomial", [convert_to_tensor(logits, name="logits"), num_samples], seed, output_dtype=output_dtype)


def random_gamma(shape, alpha, beta=None, dtype="float32", seed=None, name=None):
    with name_scope(name, "random_gamma"):
        shape, alpha = _shape(shape), convert_to_tensor(alpha, dtype=dtype, name="alpha")
        drawn = _drawn("RandomGamma", [shape, alpha], seed)
        return drawn if beta is None else drawn / beta


def random_poisson(lam, shape, dtype="float32", seed=None, name=None):
    with name_scope(name, "random_poisson"):
        return _drawn("RandomPoissonV2", [_shape(shape), lam], seed, dtype=dtype)
