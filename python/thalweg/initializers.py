"""Initial values of variables: the engine's, with TensorFlow's arguments."""

from . import _engine
from ._graphs import current_scope


class _Initializer:
    """An initializer of the engine; called with a shape, it makes the nodes."""

    _kind = None

    def __init__(self, settings, dtype="float32"):
        self._settings, self.dtype = {k: v for k, v in settings.items() if v is not None}, dtype
        self._engine = _engine.Initializer(self._kind, self._settings)

    def __call__(self, shape, dtype=None, partition_info=None):
        from ._eager import _either

        return _either(lambda scope, *args: self._engine.build(scope, *args))(current_scope(), shape, dtype or self.dtype)

    def get_config(self):
        return dict(self._settings)


class Zeros(_Initializer):
    _kind = "zeros"

    def __init__(self, dtype="float32"):
        super().__init__({}, dtype)


class Ones(_Initializer):
    _kind = "ones"

    def __init__(self, dtype="float32"):
        super().__init__({}, dtype)


class Constant(_Initializer):
    """One number everywhere, or an array of values."""

    _kind = "constant"

    def __init__(self, value=0, dtype="float32", verify_shape=False):
        self._value = None if isinstance(value, (int, float)) else value
        super().__init__({"value": value if self._value is None else 0}, dtype)
        if self._value is not None:
            # A function of Python for `get_variable`.
            self._engine = None

    def __call__(self, shape, dtype=None, partition_info=None):
        if self._value is None:
            return super().__call__(shape, dtype)
        return current_scope().constant(self._value, dtype or self.dtype, shape, "Const")


class RandomUniform(_Initializer):
    _kind = "random_uniform"

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype="float32"):
        super().__init__({"minval": minval, "maxval": 1.0 if maxval is None else maxval, "seed": seed}, dtype)


class RandomNormal(_Initializer):
    _kind = "random_normal"

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype="float32"):
        super().__init__({"mean": mean, "stddev": stddev, "seed": seed}, dtype)


class TruncatedNormal(_Initializer):
    _kind = "truncated_normal"

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype="float32"):
        super().__init__({"mean": mean, "stddev": stddev, "seed": seed}, dtype)


class VarianceScaling(_Initializer):
    _kind = "variance_scaling"

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype="float32"):
        super().__init__({"scale": scale, "mode": mode, "distribution": distribution, "seed": seed}, dtype)


class Orthogonal(_Initializer):
    _kind = "orthogonal"

    def __init__(self, gain=1.0, seed=None, dtype="float32"):
        super().__init__({"gain": gain, "seed": seed}, dtype)


class Identity(_Initializer):
    _kind = "identity"

    def __init__(self, gain=1.0, dtype="float32"):
        super().__init__({"gain": gain}, dtype)


def _scaling(scale, mode, distribution):
    class Scaled(VarianceScaling):
        def __init__(self, seed=None, dtype="float32"):
            super().__init__(scale, mode, distribution, seed, dtype)

    return Scaled


GlorotUniform, GlorotNormal = _scaling(1.0, "fan_avg", "uniform"), _scaling(1.0, "fan_avg", "truncated_normal")
HeUniform, HeNormal = _scaling(2.0, "fan_in", "uniform"), _scaling(2.0, "fan_in", "truncated_normal")
LecunUniform, LecunNormal = _scaling(1.0, "fan_in", "uniform"), _scaling(1.0, "fan_in", "truncated_normal")

zeros = zeros_initializer = Zeros
ones = ones_initializer = Ones
constant = constant_initializer = Constant
random_uniform = random_uniform_initializer = RandomUniform
random_normal = random_normal_initializer = RandomNormal
truncated_normal = truncated_normal_initializer = TruncatedNormal
variance_scaling = variance_scaling_initializer = VarianceScaling
orthogonal = orthogonal_initializer = Orthogonal
identity = identity_initializer = Identity
glorot_uniform = glorot_uniform_initializer = GlorotUniform
glorot_normal = glorot_normal_initializer = GlorotNormal
he_uniform = he_uniform_initializer = HeUniform
he_normal = he_normal_initializer = HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal


def global_variables():
    from ._variables import global_variables_initializer

    return global_variables_initializer()
