"""Elementwise ops: one input, two inputs that broadcast, gradients of two equal shapes."""

import numpy as np
import tensorflow as tf

# Exact: every library gives the same bits, or the op only inspects its input.
EXACT_UNARY = """Abs Ceil Conj Floor Invert IsFinite IsInf IsNan LogicalNot Neg OnesLike ZerosLike PopulationCount Relu Relu6 Rint Round
    Sign Square Real Imag LeakyRelu Identity Snapshot StopGradient DeepCopy Rank Shape Size""".split()
CLOSE_UNARY = """Acos Acosh Asin Asinh Atan Atanh Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Inv Lgamma Log Log1p Reciprocal Rsqrt Selu
    Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh Angle ComplexAbs""".split()
EXACT_BINARY = """Add AddV2 Sub Mul Maximum Minimum BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift Equal NotEqual
    Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr Complex""".split()
DIVISIONS = "Div RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod DivNoNan".split()
CLOSE_BINARY = "MulNoNan SquaredDifference Xdivy Xlog1py Xlogy Atan2".split()
GRADIENTS = """EluGrad InvGrad LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad
    SqrtGrad TanhGrad""".split()


def unary(g):
    arg = g.definition.input_arg[0]
    dtype = g.t(arg.type_attr) if arg.type_attr else tf.as_dtype(arg.type)
    profile = g.profile("plain", "wide", "special", "unit", "positive")
    if dtype.is_complex and g.op in CLOSE_UNARY:
        profile = "plain"  # C libraries disagree on infinities and cancellation of complex functions
    attrs = {}
    if g.op == "LeakyRelu":
        attrs["alpha"] = g.pick([0.2, 0.0, 1.0, 0.01])
    if g.op in ("Round", "Sign") and dtype.is_complex:
        profile = "plain"
    judge = "exact" if g.op in EXACT_UNARY and not (dtype.is_complex and g.op in ("Square", "Sign")) else "close"
    judge = {"Elu": "minus_one", "Selu": "minus_one", "Digamma": "series", "Lgamma": "series", "Softplus": "coarse"}.get(g.op, judge)
    return g.case(g.array(dtype, g.shape(), profile), judge=judge, **fit_out(g, attrs))


def fit_out(g, attrs):
    """Tout of the complex parts goes with T."""
    if g.op in ("Real", "Imag", "Angle", "ComplexAbs"):
        g.restrict(T=lambda t: t == g.t(), Tout=lambda t: t == (tf.float32 if g.t() == tf.complex64 else tf.float64))
    return attrs


def binary(g):
    args = g.definition.input_arg
    dtype = g.t(args[0].type_attr) if args[0].type_attr else tf.as_dtype(args[0].type)
    a, b = g.broadcast_pair()
    profile = g.profile("plain", "wide", "special", "whole")
    if dtype.is_complex and g.op not in ("Equal", "NotEqual", "Add", "AddV2", "Sub"):
        profile = "plain"
    attrs = {}
    if g.op == "Complex":
        g.restrict(T=lambda t: t == g.t(), Tout=lambda t: t == (tf.complex64 if g.t() == tf.float32 else tf.complex128))
    if g.op in ("Equal", "NotEqual") and g.coin(0.1):
        attrs["incompatible_shape_error"] = g.coin()
    loose = g.op in CLOSE_BINARY or (dtype.is_complex and g.op not in EXACT_BINARY) or (dtype.is_complex and g.op == "Mul")
    return g.case(g.array(dtype, a, profile), g.array(dtype, b, profile), judge="close" if loose else "exact", **attrs)


def division(g):
    dtype = g.t()
    a, b = g.broadcast_pair()
    x, y = g.array(dtype, a, "plain" if dtype.is_complex else None), g.array(dtype, b, "plain" if dtype.is_complex else None)
    if dtype.is_integer and not dtype.is_unsigned:
        # The smallest integer divided by -1 crashes TensorFlow's process.
        x = np.where(x == np.iinfo(x.dtype).min, x.dtype.type(7), x)
    if dtype.is_integer and g.coin(0.9):
        y = np.where(y == 0, y.dtype.type(3), y)
    return g.case(x, y, judge="close" if dtype.is_complex else "exact")


def power(g):
    dtype = g.t()
    a, b = g.broadcast_pair()
    if dtype.is_integer:
        return g.case(g.array(dtype, a), g.ints(-1 if g.coin(0.1) else 0, 9, b, dtype))
    profile = "plain" if dtype.is_complex else g.profile()
    return g.case(g.array(dtype, a, profile), g.array(dtype, b, g.pick([profile, "whole"])), judge="close")


def gradient(g):
    shape = g.shape()
    profile = "plain" if g.t().is_complex else g.profile("plain", "special", "wide")
    attrs = {"alpha": g.pick([0.2, 0.0, 0.7])} if g.op == "LeakyReluGrad" else {}
    judges = {"ReluGrad": "exact", "Relu6Grad": "exact", "LeakyReluGrad": "exact", "EluGrad": "minus_one", "SeluGrad": "minus_one"}
    return g.case(g.array(g.t(), shape, profile), g.array(g.t(), shape, profile), judge=judges.get(g.op, "close"), **attrs)


def approximate_equal(g):
    shape = g.shape()
    x = g.array(g.t(), shape, "plain")
    y = np.where(g.rng.random(shape) < 0.5, x, g.array(g.t(), shape, "plain")).astype(x.dtype)
    return g.case(x, y, tolerance=g.pick([1e-5, 0.5, 2.0]))


def special_function(g):
    """Zeta and Polygamma, where they are defined."""
    a, b = g.broadcast_pair()
    first = g.array(g.t(), a, "positive") + (1 if g.op == "Zeta" else 0) if g.coin() else np.abs(g.array(g.t(), a, "whole"))
    return g.case(first.astype(g.t().as_numpy_dtype), g.array(g.t(), b, g.profile("positive", "plain")), judge="series")


def clip(g):
    shape = g.shape()
    low, high = g.array(g.t(), (), "plain"), g.array(g.t(), (), "plain")
    if not g.t().is_complex and low > high:
        low, high = high, low
    bound = shape if g.coin(0.3) else ()
    return g.case(g.array(g.t(), shape, "plain" if g.t().is_complex else None), np.broadcast_to(low, bound).copy(), np.broadcast_to(high, bound).copy())


def select(g):
    shape = g.shape(0, 3)
    condition = shape
    if g.coin(0.4) and len(shape) >= 1:
        condition = shape[:1]
    elif g.coin(0.2):
        condition = ()
    return g.case(g.array(tf.bool, condition), g.array(g.t(), shape), g.array(g.t(), shape))


def select_v2(g):
    a, b = g.broadcast_pair()
    return g.case(g.array(tf.bool, g.pick([a, b, ()])), g.array(g.t(), a), g.array(g.t(), b))


# Cast of numbers out of the target's range is undefined in TensorFlow: values stay in range.
def cast(g):
    src, dst = g.t("SrcT"), g.t("DstT")
    if tf.string in (src, dst):
        g.restrict(SrcT=lambda t: t != tf.string, DstT=lambda t: t != tf.string)
        src, dst = g.t("SrcT"), g.t("DstT")
    floating = src.is_floating or src.is_complex
    to_float = dst.is_floating or dst.is_complex
    if floating and not to_float:
        profile = "positive" if dst.is_unsigned or dst == tf.bool else "plain"
    elif floating:
        profile = g.profile("plain", "special", "wide")
    else:
        profile = None
    return g.case(g.array(src, g.shape(), profile), Truncate=g.coin(0.2), DstT=dst)


def bitcast(g):
    src, dst = g.t(), g.t("type")
    shape = g.shape(0, 3)
    if src.size < dst.size:
        shape += (dst.size // src.size,)
    return g.case(g.array(src, shape), type=dst)


def check_numerics(g):
    profile = "special" if g.coin(0.15) else "plain"
    return g.case(g.array(g.t(), g.shape(), profile), message="not a number here")


def plain_message(g):
    return g.case(g.array(g.t(), g.shape()), message="why")


def lin_space(g):
    return g.case(g.array(g.t(), (), "plain"), g.array(g.t(), (), "plain"), g.ints(1, 9, (), g.t("Tidx")), judge="close")


def range_(g):
    dtype = g.t("Tidx")
    start, limit = g.array(dtype, (), "plain"), g.array(dtype, (), "plain")
    delta = np.abs(g.array(dtype, (), "positive"))
    if not dtype.is_unsigned and start > limit:
        delta = -delta
    elif start > limit:
        start, limit = limit, start
    return g.case(start, limit, delta.astype(start.dtype))


def ragged_range(g):
    dtype, n = g.t(), g.int(0, 5)
    starts, steps = g.array(dtype, (n,), "plain"), g.array(dtype, (n,), "positive")
    return g.case(starts, (starts + g.array(dtype, (n,), "plain")).astype(starts.dtype), steps)


GENERATORS = {op: unary for op in EXACT_UNARY + CLOSE_UNARY}
GENERATORS |= {op: binary for op in EXACT_BINARY + CLOSE_BINARY}
GENERATORS |= {op: division for op in DIVISIONS} | {op: gradient for op in GRADIENTS}
GENERATORS |= {"Pow": power, "ApproximateEqual": approximate_equal, "Zeta": special_function, "Polygamma": special_function}
GENERATORS |= {"ClipByValue": clip, "Select": select, "SelectV2": select_v2, "Cast": cast, "Bitcast": bitcast}
GENERATORS |= {"CheckNumerics": check_numerics, "CheckNumericsV2": check_numerics, "PreventGradient": plain_message}
GENERATORS |= {"LinSpace": lin_space, "Range": range_, "RaggedRange": ragged_range}
