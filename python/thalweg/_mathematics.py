"""Arithmetic, reductions and comparisons with TensorFlow's arguments. Ops without any of their own are generated (`_op_functions`)."""

from . import _engine
from ._engine import Tensor, Variable
from ._graphs import convert_to_tensor, current_scope, name_scope
from ._op_functions import call
from . import _operators

__all__ = ["abs", "accumulate_n", "add", "add_n", "arg_max", "arg_min", "argmax", "argmin", "bincount", "cast", "complex", "count_nonzero",
           "cumprod", "cumsum", "div", "div_no_nan", "divide", "einsum", "equal", "floordiv", "log_sigmoid", "matmul", "mod", "multiply",
           "negative", "not_equal", "pow", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean",
           "reduce_min", "reduce_prod", "reduce_sum", "round", "saturate_cast", "sigmoid", "sign", "sqrt", "square", "subtract",
           "tensordot", "to_bfloat16", "to_double", "to_float", "to_int32", "to_int64", "top_k", "truediv", "logical_xor", "is_nan",
           "is_inf", "is_finite", "log", "exp", "norm", "diag", "matrix_inverse", "matrix_determinant", "argsort", "sort"]

_complex = complex


def _unary(op):
    def function(x, name=None):
        return call(op, [x], None, name)

    function.__name__ = op
    return function


def add(x, y, name=None):
    """x + y, elementwise with broadcasting."""
    return call("AddV2", [x, y], None, name or "Add")


def subtract(x, y, name=None):
    return call("Sub", [x, y], None, name)


def multiply(x, y, name=None):
    return call("Mul", [x, y], None, name)


def divide(x, y, name=None):
    if name is None and isinstance(x, (Tensor, Variable)) or isinstance(y, (Tensor, Variable)):
        return truediv(x, y, name)
    return truediv(x, y, name)


def truediv(x, y, name=None):
    with name_scope(name, "truediv") as scope:
        return _operators._true_division(scope, convert_to_tensor(x, name="x") if not isinstance(y, (Tensor, Variable)) else x, y)


def div(x, y, name=None):
    """Division as of Python 2: of integers, rounded towards minus infinity."""
    with name_scope(name, "div") as scope:
        x, y = _operators._pair(x, y)
        return call("RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv", [x, y], None, scope)


def div_no_nan(x, y, name=None):
    return call("DivNoNan", [x, y], None, name or "div_no_nan")


def floordiv(x, y, name=None):
    return call("FloorDiv", [x, y], None, name or "floordiv")


def mod(x, y, name=None):
    return call("FloorMod", [x, y], None, name)


floormod = mod


def pow(x, y, name=None):
    return call("Pow", [x, y], None, name)


def negative(x, name=None):
    return call("Neg", [x], None, name)


def abs(x, name=None):
    with name_scope(name, "Abs") as scope:
        x = convert_to_tensor(x, name="x")
        return call("ComplexAbs" if x.dtype.is_complex else "Abs", [x], None, scope)


sign, sqrt, square, exp, log = _unary("Sign"), _unary("Sqrt"), _unary("Square"), _unary("Exp"), _unary("Log")
is_nan, is_inf, is_finite = _unary("IsNan"), _unary("IsInf"), _unary("IsFinite")
matrix_inverse, matrix_determinant, diag = _unary("MatrixInverse"), _unary("MatrixDeterminant"), _unary("Diag")


def round(x, name=None):
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else call("Round", [x], None, name)


def sigmoid(x, name=None):
    return call("Sigmoid", [x], None, name)


def log_sigmoid(x, name=None):
    with name_scope(name, "LogSigmoid") as scope:
        return call("Neg", [call("Softplus", [-convert_to_tensor(x)])], None, scope)


def equal(x, y, name=None):
    return call("Equal", [x, y], None, name)


def not_equal(x, y, name=None):
    return call("NotEqual", [x, y], None, name)


def logical_xor(x, y, name="LogicalXor"):
    with name_scope(name) as scope:
        return _operators._exclusive(scope, x, y)


def cast(x, dtype, name=None):
    """The elements converted to another type."""
    dtype = _engine.as_dtype(dtype)
    with name_scope(name, "Cast") as scope:
        x = convert_to_tensor(x, name="x")
        return x if x.dtype == dtype else call("Cast", [x], {"DstT": dtype}, scope)


_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535), "int32": (-2 ** 31, 2 ** 31 - 1),
           "uint32": (0, 2 ** 32 - 1), "int64": (-2 ** 63, 2 ** 63 - 1), "uint64": (0, 2 ** 64 - 1)}


def saturate_cast(value, dtype, name=None):
    """Cast; what is beyond the range of an integer type becomes its end."""
    dtype = _engine.as_dtype(dtype)
    with name_scope(name, "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        low, high = _RANGES.get(dtype.name, (None, None))
        own = _RANGES.get(value.dtype.name)
        if low is not None and (own is None or own[0] < low):
            value = call("Maximum", [value, convert_to_tensor(float(low) if own is None else low, value.dtype)])
        if high is not None and (own is None or own[1] > high):
            # The largest number of a floating type that is not beyond the range.
            limit = high if own is not None else float(high - (high >> {"float32": 24, "float16": 11}.get(value.dtype.name, 53)))
            value = call("Minimum", [value, convert_to_tensor(limit, value.dtype)])
        return call("Cast", [value], {"DstT": dtype}, scope)


def _caster(dtype, name):
    def function(x, name=name):
        return cast(x, dtype, name)

    return function


to_float, to_double = _caster("float32", "ToFloat"), _caster("float64", "ToDouble")
to_int32, to_int64, to_bfloat16 = _caster("int32", "ToInt32"), _caster("int64", "ToInt64"), _caster("bfloat16", "ToBFloat16")


def complex(real, imag, name=None):
    return call("Complex", [real, imag], None, name)


def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of two matrices, or of each pair of two batches of matrices."""
    with name_scope(name, "MatMul") as scope:
        a_known = isinstance(a, (Tensor, Variable))
        if not a_known and isinstance(b, (Tensor, Variable)):
            a = convert_to_tensor(a, dtype=b.dtype, name="a")
        else:
            a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, dtype=None if isinstance(b, (Tensor, Variable)) else a.dtype, name="b")
        ranks = (a.shape.rank, b.shape.rank)
        if all(r is None or r > 2 for r in ranks) or any(r is not None and r > 2 for r in ranks):
            adjoint = {"adj_x": bool(transpose_a or adjoint_a), "adj_y": bool(transpose_b or adjoint_b)}
            return call("BatchMatMulV2", [a, b], adjoint, scope)
        return call("MatMul", [a, b], {"transpose_a": bool(transpose_a or adjoint_a), "transpose_b": bool(transpose_b or adjoint_b)}, scope)


def _reduction(op, doc):
    def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = reduction_indices if axis is None else axis
        keepdims = keep_dims if keepdims is None else keepdims
        if axis is None:
            input_tensor = convert_to_tensor(input_tensor)
            axis = _all_axes(input_tensor)
        return call(op, [input_tensor, axis], {"keep_dims": bool(keepdims)}, name)

    function.__doc__ = doc
    function.__name__ = f"reduce_{op.lower()}"
    return function


def _all_axes(x):
    from ._arrays import constant, range as range_, rank

    if x.shape.rank:
        return constant(list(range(x.shape.rank)), dtype="int32")
    return range_(0, rank(x))


reduce_sum = _reduction("Sum", "The sum over some axes; over all if none is given.")
reduce_mean = _reduction("Mean", "The mean over some axes; over all if none is given.")
reduce_max = _reduction("Max", "The maximum over some axes; over all if none is given.")
reduce_min = _reduction("Min", "The minimum over some axes; over all if none is given.")
reduce_prod = _reduction("Prod", "The product over some axes; over all if none is given.")
reduce_all = _reduction("All", "Whether all elements along some axes are true.")
reduce_any = _reduction("Any", "Whether any element along some axes is true.")


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    from ._arrays import squeeze, stop_gradient

    axis = reduction_indices if axis is None else axis
    with name_scope(name, "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor)
        highest = reduce_max(x, axis, keepdims=True)
        highest = stop_gradient(call("SelectV2", [is_finite(highest), highest, call("ZerosLike", [highest])]))
        total = log(reduce_sum(exp(x - highest), axis, keepdims=True)) + highest
        if keepdims or keep_dims:
            return total
        return squeeze(total, axis=axis)


def count_nonzero(input_tensor, axis=None, keepdims=None, dtype="int64", name=None, reduction_indices=None, keep_dims=None):
    with name_scope(name, "count_nonzero"):
        x = convert_to_tensor(input_tensor)
        zero = convert_to_tensor(False if x.dtype.is_bool else 0, dtype=x.dtype)
        return cast(reduce_sum(cast(not_equal(x, zero), "int64"), axis, keepdims, None, reduction_indices, keep_dims), dtype)


def argmax(input, axis=None, name=None, dimension=None, output_type="int64"):
    axis = dimension if axis is None else axis
    return call("ArgMax", [input, 0 if axis is None else axis], {"output_type": output_type}, name)


def argmin(input, axis=None, name=None, dimension=None, output_type="int64"):
    axis = dimension if axis is None else axis
    return call("ArgMin", [input, 0 if axis is None else axis], {"output_type": output_type}, name)


arg_max, arg_min = argmax, argmin


def top_k(input, k=1, sorted=True, name=None):
    from ._op_functions import function

    return function("TopKV2")(input, k, sorted=sorted, name=name)


def add_n(inputs, name=None):
    return call("AddN", [list(inputs)], None, name)


accumulate_n = lambda inputs, shape=None, tensor_dtype=None, name=None: add_n(inputs, name)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    return call("Cumsum", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    return call("Cumprod", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype="int32", name=None):
    with name_scope(name, "bincount"):
        arr = convert_to_tensor(arr, dtype_hint="int32")
        size = reduce_max(arr) + 1
        if minlength is not None:
            size = call("Maximum", [size, minlength])
        if maxlength is not None:
            size = call("Minimum", [size, maxlength])
        weights = convert_to_tensor([], dtype=dtype) if weights is None else weights
        return call("Bincount", [arr, size, weights])


def einsum(equation, *inputs, name=None, **kwargs):
    return call("Einsum", [list(inputs)], {"equation": equation.replace(" ", "")}, name or kwargs.get("name"))


def tensordot(a, b, axes, name=None):
    """The sum of products over these axes of both."""
    from ._arrays import concat, reshape, shape, transpose

    with name_scope(name, "Tensordot"):
        a, b = _operators._pair(a, b)
        if isinstance(axes, int):
            axes = [list(range(a.shape.rank - axes, a.shape.rank)), list(range(axes))]
        over_a, over_b = ([[x] if isinstance(x, int) else list(x) for x in axes])
        over_a = [i % a.shape.rank for i in over_a]
        over_b = [i % b.shape.rank for i in over_b]
        free_a = [i for i in range(a.shape.rank) if i not in over_a]
        free_b = [i for i in range(b.shape.rank) if i not in over_b]

        def sizes(x, free):
            known = [x.shape[i] for i in free]
            return [int(d) for d in known] if None not in known else [shape(x)[i] for i in free]

        def known_product(x, over):
            out = 1
            for i in over:
                out = out * x.shape[i] if x.shape[i] is not None and out is not None else None
            return out

        inner = known_product(a, over_a) or known_product(b, over_b)
        left = reshape(transpose(a, free_a + over_a), [-1, inner])
        right = reshape(transpose(b, over_b + free_b), [inner, -1])
        product = matmul(left, right)
        return reshape(product, sizes(a, free_a) + sizes(b, free_b) if free_a or free_b else [])


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    with name_scope(name, "norm"):
        x = convert_to_tensor(tensor)
        keep = bool(keepdims or keep_dims)
        if ord in ("euclidean", "fro", 2):
            return sqrt(reduce_sum(x * x, axis, keepdims=keep))
        if ord == 1:
            return reduce_sum(abs(x), axis, keepdims=keep)
        if ord == float("inf"):
            return reduce_max(abs(x), axis, keepdims=keep)
        return pow(reduce_sum(pow(abs(x), float(ord)), axis, keepdims=keep), 1.0 / ord)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    x = convert_to_tensor(values)
    if axis not in (-1, x.shape.rank - 1):
        raise NotImplementedError("tf.sort along another axis than the last")
    sign_ = 1 if direction == "DESCENDING" else -1
    found = top_k(x * sign_ if sign_ < 0 else x, x.shape[-1] if x.shape[-1] is not None else _last_size(x))
    return found[0] * sign_ if sign_ < 0 else found[0]


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    x = convert_to_tensor(values)
    if axis not in (-1, x.shape.rank - 1):
        raise NotImplementedError("tf.argsort along another axis than the last")
    return top_k(-x if direction == "ASCENDING" else x, x.shape[-1] if x.shape[-1] is not None else _last_size(x))[1]


def _last_size(x):
    from ._arrays import shape

    return shape(x)[-1]


def trace(x, name=None):
    """The sum of the diagonal."""
    with name_scope(name, "Trace") as scope:
        return reduce_sum(call("MatrixDiagPart", [x]), [-1], name=scope)


def confusion_matrix(labels, predictions, num_classes=None, dtype="int32", name=None, weights=None):
    """How often each label was predicted as each class."""
    with name_scope(name, "confusion_matrix"):
        labels, predictions = (to_int64(convert_to_tensor(v)) for v in (labels, predictions))
        if num_classes is None:
            num_classes = call("Maximum", [reduce_max(labels), reduce_max(predictions)]) + 1
        size = convert_to_tensor(num_classes, "int64") if not isinstance(num_classes, Tensor) else to_int64(num_classes)
        where = call("Pack", [[labels, predictions]], {"axis": 1})
        ones = call("OnesLike", [predictions])
        values = cast(ones if weights is None else weights, dtype)
        return call("ScatterNd", [where, values, call("Pack", [[size, size]])])


def histogram_fixed_width(values, value_range, nbins=100, dtype="int32", name=None):
    return call("HistogramFixedWidth", [values, value_range, nbins], {"dtype": dtype}, name)


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    return call("EditDistance", [hypothesis.indices, hypothesis.values, hypothesis.dense_shape, truth.indices, truth.values, truth.dense_shape],
                {"normalize": normalize}, name)


def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """The tensor, or an error if an element is not finite."""
    from ._graphs import control_dependencies

    with name_scope(name, "VerifyFinite"):
        t = convert_to_tensor(x if t is None else t)
        with control_dependencies([call("CheckNumerics", [t], {"message": message if msg is None else msg})]):
            return call("Identity", [t])


def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    from .sparse import to_dense

    return to_dense(sp_input, default_value, validate_indices, name)


def dynamic_partition(data, partitions, num_partitions, name=None):
    """The rows of each part."""
    return call("DynamicPartition", [data, partitions], {"num_partitions": num_partitions}, name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None):
    """Each sequence backwards, up to its length."""
    axes = {"seq_dim": seq_dim if seq_axis is None else seq_axis, "batch_dim": (batch_dim or 0) if batch_axis is None else batch_axis}
    return call("ReverseSequence", [input, seq_lengths], axes, name)


def string_join(inputs, separator="", name=None):
    return call("StringJoin", [list(inputs)], {"separator": separator}, name)


def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    return call("BatchToSpace", [input, crops], {"block_size": block_size}, name)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    return call("SpaceToDepth", [input], {"block_size": block_size, "data_format": data_format}, name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    return call("DepthToSpace", [input], {"block_size": block_size, "data_format": data_format}, name)


def scatter_nd(indices, updates, shape, name=None):
    return call("ScatterNd", [indices, updates, shape], None, name)


def setdiff1d(x, y, index_dtype="int32", name=None):
    """What is in x and not in y, and where."""
    return call("ListDiff", [x, y], {"out_idx": index_dtype}, name)


def bitcast(input, type, name=None):
    return call("Bitcast", [input], {"type": type}, name)


def tensor_scatter_update(tensor, indices, updates, name=None):
    return call("TensorScatterUpdate", [tensor, indices, updates], None, name)


def _rows(op, names):
    def function(ref, indices, updates, use_locking=False, name=None):
        with name_scope(name, names) as scope:
            done = call(op, [ref.handle, indices, convert_to_tensor(updates, ref.dtype)], None, scope)
        from ._variables import _Assigned

        return _Assigned(ref, done)

    return function


scatter_update, scatter_add, scatter_sub = (_rows("ResourceScatterUpdate", "ScatterUpdate"), _rows("ResourceScatterAdd", "ScatterAdd"),
                                            _rows("ResourceScatterSub", "ScatterSub"))
scatter_nd_update, scatter_nd_add = _rows("ResourceScatterNdUpdate", "ScatterNdUpdate"), _rows("ResourceScatterNdAdd", "ScatterNdAdd")


def self_adjoint_eig(tensor, name=None):
    return call("SelfAdjointEigV2", [tensor], {"compute_v": True}, name)


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    s, u, v = call("Svd", [tensor], {"compute_uv": compute_uv, "full_matrices": full_matrices}, name)
    return (s, u, v) if compute_uv else s


def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    return sqrt(reduce_sum(square(input_tensor), axis, keepdims=keepdims), name=name)


def _segment_mean(data, ids, count, power):
    total = call("UnsortedSegmentSum", [data, ids, count])
    ones = call("UnsortedSegmentSum", [call("OnesLike", [data]), ids, count])
    return total / call("Maximum", [ones, convert_to_tensor(1, ones.dtype)]) ** power


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    with name_scope(name, "UnsortedSegmentMean"):
        return _segment_mean(convert_to_tensor(data), segment_ids, num_segments, 1)


def unique(x, out_idx="int32", name=None):
    """The different elements, and for each element which of them it is."""
    from . import raw_ops

    return raw_ops.Unique(x=x, out_idx=out_idx, name=name)


def unique_with_counts(x, out_idx="int32", name=None):
    from . import raw_ops

    return raw_ops.UniqueWithCounts(x=x, out_idx=out_idx, name=name)


__all__ += ["unique", "unique_with_counts", "trace", "confusion_matrix", "histogram_fixed_width", "edit_distance", "verify_tensor_all_finite", "sparse_tensor_to_dense",
            "dynamic_partition", "reverse_sequence", "string_join", "space_to_depth", "depth_to_space", "batch_to_space", "scatter_nd", "setdiff1d",
            "bitcast", "tensor_scatter_update", "scatter_update", "scatter_add", "scatter_sub", "scatter_nd_update", "scatter_nd_add",
            "self_adjoint_eig", "svd", "reduce_euclidean_norm", "unsorted_segment_mean"]
