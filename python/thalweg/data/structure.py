"""Structures of elements: nested tuples and dicts of tensors, with their types and shapes.

Lists are tensors here, as in TensorFlow: only tuples and dicts are structure.
"""

from .. import _engine
from .._graphs import convert_to_tensor
from .._shapes import TensorShape
from .._slices import SparseTensor


class Component:
    """Type and shape of one tensor."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype, shape):
        self.dtype, self.shape = _engine.as_dtype(dtype), TensorShape(shape)


class Nested:
    """An element that is a dataset: a window, or what a function made."""

    def __init__(self, elements):
        self.elements = elements
        self.dtype, self.shape = _engine.as_dtype("variant"), TensorShape([])


class Sparse:
    """An element that is a sparse tensor: carried as its three tensors."""

    def __init__(self, dtype, rank):
        self.dtype, self.rank = dtype, rank


def mapped(structure, function):
    """The structure with each leaf replaced."""
    if isinstance(structure, dict):
        return {key: mapped(structure[key], function) for key in sorted(structure)}
    if isinstance(structure, tuple):
        parts = [mapped(part, function) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    return function(structure)


def leaves(structure):
    """The leaves, in the order of the tensors."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in leaves(structure[key])]
    if isinstance(structure, tuple):
        return [leaf for part in structure for leaf in leaves(part)]
    return [structure]


def components(elements):
    """The components of elements, one for each tensor."""
    found = []
    for leaf in leaves(elements):
        if isinstance(leaf, Sparse):
            rank = leaf.rank
            found += [Component("int64", [None, rank]), Component(leaf.dtype, [None]), Component("int64", [rank])]
        else:
            found.append(leaf)
    return found


def types_and_shapes(elements):
    """The attrs that ops of datasets have."""
    parts = components(elements)
    return {"output_types": [c.dtype for c in parts], "output_shapes": [c.shape for c in parts]}


def packed(elements, tensors):
    """Tensors in the structure of elements; a variant of a nested dataset becomes a dataset."""
    tensors = iter(tensors)

    def leaf(component):
        if isinstance(component, Sparse):
            return SparseTensor(next(tensors), next(tensors), next(tensors))
        tensor = next(tensors)
        if isinstance(component, Nested):
            from .dataset import Dataset

            return Dataset(component.elements, lambda: tensor)
        return tensor

    return mapped(elements, leaf)


def flattened(value):
    """What a function returned, or a caller gave: the structure of its elements, and its tensors."""
    from .dataset import Dataset

    tensors = []

    def leaf(v):
        if isinstance(v, Dataset):
            tensors.append(v._variant())
            return Nested(v._elements)
        if isinstance(v, SparseTensor):
            tensors.extend([v.indices, v.values, v.dense_shape])
            return Sparse(v.dtype, v.indices.shape[1] if v.indices.shape.rank else None)
        tensor = convert_to_tensor(v, name="component_0")
        tensors.append(tensor)
        return Component(tensor.dtype, tensor.shape)

    if isinstance(value, list):
        # A list of tensors that a function returns is a tuple of them.
        value = tuple(value) if any(isinstance(v, (_engine.Tensor, _engine.Variable)) for v in value) else value
    return mapped(value, leaf), tensors
