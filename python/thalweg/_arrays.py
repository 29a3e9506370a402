"""Functions that make and rearrange tensors."""

from . import _engine
from ._engine import Tensor, Variable
from ._graphs import convert_to_tensor, current_scope, name_scope
from ._op_functions import call
from ._shapes import TensorShape
from ._slices import SparseTensor

__all__ = ["boolean_mask", "broadcast_static_shape", "concat", "constant", "expand_dims", "eye", "fill", "gather", "gather_nd", "identity", "is_tensor", "linspace", "make_tensor_proto",
           "meshgrid", "one_hot", "ones", "ones_like", "pad", "placeholder", "placeholder_with_default", "range", "rank", "repeat",
           "reshape", "reverse", "sequence_mask", "shape", "size", "slice", "space_to_depth", "sparse_placeholder", "split", "squeeze", "stack",
           "stop_gradient", "strided_slice", "tile", "transpose", "unstack", "where", "zeros", "zeros_like"]

_range, _slice = range, slice


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A constant of this value; one element fills the shape."""
    if verify_shape and shape is not None and list(_engine.to_numpy(value).shape) != list(TensorShape(shape)):
        raise TypeError(f"Expected Tensor's shape: {TensorShape(shape)}, got {_engine.to_numpy(value).shape}.")
    if isinstance(value, (Tensor, Variable)):
        raise TypeError(f"tf.constant needs a value, got {value}")
    return current_scope().constant(value, dtype, shape, name)


def placeholder(dtype, shape=None, name=None):
    """A tensor whose value is fed in each run."""
    if not isinstance(current_scope(), _engine.Scope):
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return call("Placeholder", [], {"dtype": dtype, "shape": TensorShape(shape)}, name)


def placeholder_with_default(input, shape, name=None):
    """A tensor that is `input` where it is not fed."""
    return call("PlaceholderWithDefault", [input], {"shape": TensorShape(shape)}, name)


def sparse_placeholder(dtype, shape=None, name=None):
    base = name + "/" if name else ""
    rank = None if shape is None else len(shape)
    dense = placeholder("int64", [rank], base + "shape") if shape is None or None in list(shape) else constant(shape, "int64")
    return SparseTensor(placeholder("int64", [None, rank], base + "indices"), placeholder(dtype, [None], base + "values"), dense)


def is_tensor(x):
    return isinstance(x, (Tensor, Variable, SparseTensor))


is_tf_type = is_tensor


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False):
    raise NotImplementedError("tf.make_tensor_proto: messages of TensorFlow are not part of thalweg")


def _small(shape):
    """The sizes of a shape that is known and not large."""
    if isinstance(shape, (Tensor, Variable)):
        return None
    if isinstance(shape, int):
        return [shape]
    if not isinstance(shape, TensorShape) and any(isinstance(d, (Tensor, Variable)) for d in shape):
        return None
    sizes = [int(d) for d in (shape.as_list() if isinstance(shape, TensorShape) else shape)]
    count = 1
    for d in sizes:
        count *= d
    return sizes if count < 1000 else None


def _filled(value, shape, dtype, name, default):
    dtype = _engine.as_dtype(dtype)
    with name_scope(name, default) as scope:
        value = {"bool": bool(value), "string": ""}.get(dtype.name, value)
        sizes = _small(shape)
        if sizes is not None:
            return current_scope().constant(value, dtype, sizes, scope)
        shape = convert_to_tensor(shape, dtype_hint="int32", name="shape_as_tensor")
        return call("Fill", [shape, constant(value, dtype)], None, scope)


def zeros(shape, dtype="float32", name=None, layout=None):
    return _filled(0, shape, dtype, name, "zeros")


def ones(shape, dtype="float32", name=None, layout=None):
    return _filled(1, shape, dtype, name, "ones")


def fill(dims, value, name=None, layout=None):
    return call("Fill", [dims, value], None, name)


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    return _like(0, "ZerosLike", tensor, dtype, name, "zeros_like", optimize)


def ones_like(tensor, dtype=None, name=None, optimize=True):
    return _like(1, "OnesLike", tensor, dtype, name, "ones_like", optimize)


def _like(value, op, tensor, dtype, name, default, optimize):
    with name_scope(name, default) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        if optimize and tensor.shape.is_fully_defined() and not tensor.dtype == "variant":
            return _filled(value, tensor.shape, dtype or tensor.dtype, scope, None)
        if dtype is not None and tensor.dtype != dtype:
            return _filled(value, shape(tensor), dtype, scope, None)
        return call(op, [tensor], None, scope)


def reshape(tensor, shape, name=None):
    return call("Reshape", [tensor, shape], None, name)


def shape(input, name=None, out_type="int32"):
    """The sizes, as a constant where they are known."""
    with name_scope(name, "Shape") as scope:
        input = convert_to_tensor(input)
        if input.shape.is_fully_defined():
            return current_scope().constant(input.shape.as_list(), out_type, None, scope)
        return call("Shape", [input], {"out_type": out_type}, scope)


def size(input, name=None, out_type="int32"):
    with name_scope(name, "Size") as scope:
        input = convert_to_tensor(input)
        if input.shape.is_fully_defined():
            return current_scope().constant(input.shape.num_elements(), out_type, None, scope)
        return call("Size", [input], {"out_type": out_type}, scope)


def rank(input, name=None):
    with name_scope(name, "Rank") as scope:
        input = convert_to_tensor(input)
        if input.shape.rank is not None:
            return current_scope().constant(input.shape.rank, "int32", None, scope)
        return call("Rank", [input], None, scope)


def identity(input, name=None):
    return call("Identity", [input], None, name)


def stop_gradient(input, name=None):
    return call("StopGradient", [input], None, name)


def expand_dims(input, axis=None, name=None, dim=None):
    return call("ExpandDims", [input, axis if dim is None else dim], None, name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    axis = squeeze_dims if axis is None else axis
    axis = [] if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return call("Squeeze", [input], {"squeeze_dims": axis}, name)


def transpose(a, perm=None, name="transpose", conjugate=False):
    with name_scope(name, "transpose") as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            if a.shape.rank is not None:
                perm = list(_range(a.shape.rank))[::-1]
            else:
                last = call("Sub", [rank(a), 1])
                perm = call("Sub", [last, range(0, rank(a), 1)])
        op = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        return call(op, [a, convert_to_tensor(perm, dtype_hint="int32", name="perm")], None, scope)


def concat(values, axis, name="concat"):
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identity(values[0], name=name)
    return call("ConcatV2", [list(values), axis], None, name)


def stack(values, axis=0, name="stack"):
    if not isinstance(values, (list, tuple)):
        values = unstack(values)
    return call("Pack", [list(values)], {"axis": axis}, name)


def unstack(value, num=None, axis=0, name="unstack"):
    value = convert_to_tensor(value)
    if num is None:
        if value.shape.rank is None or value.shape[axis] is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
        num = int(value.shape[axis])
    return call("Unpack", [value], {"num": num, "axis": axis}, name)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    if isinstance(num_or_size_splits, int):
        return call("Split", [axis, value], {"num_split": num_or_size_splits}, name)
    sizes = convert_to_tensor(num_or_size_splits, dtype_hint="int32")
    if num is None:
        num = sizes.shape[0]
        if num is None:
            raise ValueError("Cannot infer argument `num` from shape of `num_or_size_splits`")
    return call("SplitV", [value, sizes, axis], {"num_split": int(num)}, name)


def slice(input_, begin, size, name=None):
    return call("Slice", [input_, begin, size], None, name)


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
                  var=None, name=None):
    begin = convert_to_tensor(begin)
    strides = ones_like(begin) if strides is None else strides
    masks = dict(begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
                 shrink_axis_mask=shrink_axis_mask)
    return call("StridedSlice", [input_, begin, end, strides], masks, name)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    if isinstance(params, Variable) and axis in (None, 0) and batch_dims == 0:
        return call("ResourceGather", [params.handle, indices], {"dtype": params.dtype}, name)
    return call("GatherV2", [params, indices, batch_dims if axis is None else axis], {"batch_dims": batch_dims}, name)


def gather_nd(params, indices, name=None, batch_dims=0):
    return call("GatherNd", [params, indices], None, name)


def where(condition, x=None, y=None, name=None):
    if x is None and y is None:
        return call("Where", [condition], None, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return call("Select", [condition, x, y], None, name)


def where_v2(condition, x=None, y=None, name=None):
    return call("Where", [condition], None, name) if x is None else call("SelectV2", [condition, x, y], None, name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The rows of `tensor` where `mask` is true."""
    with name_scope(name, "boolean_mask"):
        tensor, mask = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        axis, ndims = axis or 0, mask.shape.rank
        if not ndims:
            raise ValueError("mask must have a known rank of at least 1")
        if ndims > 1:
            full = shape(tensor)
            tensor = reshape(tensor, concat([full[:axis], [-1], full[axis + ndims:]], 0))
            mask = reshape(mask, [-1])
        rows = squeeze(call("Where", [mask]), axis=[1])
        return gather(tensor, rows, axis=axis)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "range") as scope:
        if dtype is None:
            given = [v for v in (start, limit, delta)]
            tensors = [v.dtype for v in given if isinstance(v, (Tensor, Variable))]
            dtype = tensors[0] if tensors else "float32" if any(isinstance(v, float) for v in given) else None
        start, limit, delta = (convert_to_tensor(v, dtype=dtype if not isinstance(v, (Tensor, Variable)) else None, name=n)
                               for v, n in ((start, "start"), (limit, "limit"), (delta, "delta")))
        return call("Range", [start, limit, delta], None, scope)


def linspace(start, stop, num, name=None):
    return call("LinSpace", [start, stop, num], None, name)


lin_space = linspace


def tile(input, multiples, name=None):
    return call("Tile", [input, multiples], None, name)


def repeat(input, repeats, axis=None, name=None):
    input = convert_to_tensor(input)
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    if not isinstance(repeats, int):
        raise NotImplementedError("tf.repeat with a list of repeats")
    parts = expand_dims(input, axis + 1)
    multiples = [1] * parts.shape.rank
    multiples[axis + 1] = repeats
    sizes = shape(input)
    return reshape(tile(parts, multiples), concat([sizes[:axis], [-1], sizes[axis + 1:]], 0), name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    mode = mode.upper()
    if mode == "CONSTANT":
        if isinstance(constant_values, (int, float)) and constant_values == 0:
            return call("Pad", [tensor, paddings], None, name)
        return call("PadV2", [tensor, paddings, constant_values], None, name)
    return call("MirrorPad", [tensor, paddings], {"mode": mode}, name)


def reverse(tensor, axis, name=None):
    return call("ReverseV2", [tensor, axis if isinstance(axis, (list, tuple, Tensor)) else [axis]], None, name)


def one_hot(indices, depth, on_value=None, off_value=None, axis=-1, dtype=None, name=None):
    with name_scope(name, "one_hot") as scope:
        if dtype is None:
            given = [v for v in (on_value, off_value) if v is not None]
            dtype = convert_to_tensor(given[0]).dtype if given else "float32"
        dtype = _engine.as_dtype(dtype)
        on = convert_to_tensor(_typed(1, dtype) if on_value is None else on_value, dtype, "on_value")
        off = convert_to_tensor(_typed(0, dtype) if off_value is None else off_value, dtype, "off_value")
        return call("OneHot", [indices, depth, on, off], {"axis": -1 if axis is None else axis}, scope)


def _typed(value, dtype):
    return bool(value) if dtype.is_bool else value


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    with name_scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        diagonal = ones([min(num_rows, columns)], dtype)
        made = call("MatrixDiag", [diagonal]) if columns == num_rows else call(
            "MatrixSetDiag", [zeros([num_rows, columns], dtype), diagonal])
        return made if batch_shape is None else tile(
            reshape(made, [1] * len(batch_shape) + [num_rows, columns]), list(batch_shape) + [1, 1])


def sequence_mask(lengths, maxlen=None, dtype="bool", name=None):
    with name_scope(name, "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            from ._mathematics import reduce_max

            maxlen = reduce_max(lengths)
        row = range(0, maxlen, 1)
        row = call("Cast", [row], {"DstT": lengths.dtype}) if row.dtype != lengths.dtype else row
        mask = call("Less", [row, expand_dims(lengths, -1)])
        return mask if _engine.as_dtype(dtype).is_bool else call("Cast", [mask], {"DstT": dtype})


def meshgrid(*args, indexing="xy", name="meshgrid"):
    with name_scope(name):
        n = len(args)
        tensors = []
        for i, x in enumerate(args):
            dims = [1] * n
            dims[i] = -1
            tensors.append(reshape(stack(x) if isinstance(x, (list, tuple)) else x, dims))
        if indexing == "xy" and n > 1:
            for i, at in ((0, 1), (1, 0)):
                dims = [1] * n
                dims[at] = -1
                tensors[i] = reshape(tensors[i], dims)
        full = tensors[0]
        for t in tensors[1:]:
            full = call("AddV2", [full, zeros_like(t, dtype=full.dtype)])
        shape_ = shape(full)
        return [call("BroadcastTo", [t, shape_]) for t in tensors]


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    return call("SpaceToDepth", [input], {"block_size": block_size, "data_format": data_format}, name)


def broadcast_static_shape(shape_x, shape_y):
    a, b = list(shape_x)[::-1], list(shape_y)[::-1]
    out = []
    for i in _range(max(len(a), len(b))):
        x, y = (a[i] if i < len(a) else 1), (b[i] if i < len(b) else 1)
        if x != y and 1 not in (x, y) and None not in (x, y):
            raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}")
        out.append(y if x == 1 else x if y == 1 else None if None in (x, y) else x)
    return TensorShape(out[::-1])
