"""Sparse tensors."""

from ._op_functions import call, namespace
from ._slices import SparseTensor
from ._arrays import sparse_placeholder as placeholder


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    default = 0 if default_value is None else default_value
    return call("SparseToDense", [sp_input.indices, sp_input.dense_shape, sp_input.values, default], {"validate_indices": validate_indices}, name)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    return call("SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, sp_a.dense_shape, b], {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b},
                name)


matmul = sparse_dense_matmul


def reorder(sp_input, name=None):
    indices, values = call("SparseReorder", [sp_input.indices, sp_input.values, sp_input.dense_shape], None, name)
    return SparseTensor(indices, values, sp_input.dense_shape)


__getattr__, __dir__ = namespace(globals(), {}, ("sparse_",))
