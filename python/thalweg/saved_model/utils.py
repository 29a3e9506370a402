"""Tensors as signatures name them."""

from .._graphs import get_default_graph


class TensorInfo:
    """The name, type and shape of a tensor."""

    def __init__(self, name, dtype=None, tensor_shape=None):
        self.name, self.dtype, self.tensor_shape = name, dtype, tensor_shape

    def __repr__(self):
        return f"name: {self.name!r}"


def build_tensor_info(tensor):
    return TensorInfo(tensor.name, tensor.dtype.as_datatype_enum, tensor.shape)


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    return (graph or get_default_graph()).get_tensor_by_name(tensor_info.name)
