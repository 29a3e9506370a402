"""Iterators: supply the elements of a dataset to a graph, one in each run."""

from .. import _engine
from .._graphs import GraphKeys, current_scope, get_default_graph
from .._op_functions import call
from .._shapes import TensorShape
from .dataset import _shape_leaves
from .structure import Component, leaves, mapped, packed, types_and_shapes


class Iterator:
    """An iterator of a graph. After the last element, runs fail with `OutOfRangeError`."""

    def __init__(self, elements, resource, initializer=None):
        self._elements, self._resource, self._initializer = elements, resource, initializer

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """An iterator that `make_initializer` gives one dataset after another."""
        elements = _elements(output_types, output_shapes)
        resource = call("IteratorV2", [], {"shared_name": shared_name or "", "container": "", **types_and_shapes(elements)})
        return Iterator(elements, resource)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        """The iterator whose string handle is fed."""
        elements = _elements(output_types, output_shapes)
        return Iterator(elements, call("IteratorFromStringHandleV2", [string_handle], types_and_shapes(elements)))

    @property
    def initializer(self):
        if self._initializer is None:
            raise ValueError("The iterator does not have an initializer. This means it was likely created using"
                             " `tf.data.Dataset.make_one_shot_iterator()`.")
        return self._initializer

    def make_initializer(self, dataset, name=None):
        with get_default_graph().colocate_with(self._resource):
            return call("MakeIterator", [dataset._variant(), self._resource], None, name)

    def get_next(self, name=None):
        made = call("IteratorGetNext", [self._resource], types_and_shapes(self._elements), name)
        return packed(self._elements, made)

    def string_handle(self, name=None):
        return call("IteratorToStringHandle", [self._resource], None, name)

    output_types = property(lambda self: mapped(self._elements, lambda c: c.dtype))
    output_shapes = property(lambda self: mapped(self._elements, lambda c: c.shape))


def _elements(types, shapes):
    shapes = [TensorShape(None)] * len(leaves(types)) if shapes is None else _shape_leaves(shapes)
    shapes = iter(shapes)
    return mapped(types, lambda t: Component(t, next(shapes)))


def make_one_shot_iterator(dataset):
    """An iterator over the dataset, once in each session, without initialization."""
    name, captured, _ = current_scope().function("Dataset_factory", [], lambda: [dataset._variant()])
    if captured:
        names = ", ".join(c.name for c in captured)
        raise ValueError("Failed to create a one-shot iterator for a dataset. `Dataset.make_initializable_iterator()` is more general: it can"
                         f" use values of the graph, such as {names}.")
    resource = call("OneShotIterator", [], {"dataset_factory": name, **types_and_shapes(dataset._elements)})
    return Iterator(dataset._elements, resource)


def make_initializable_iterator(dataset, shared_name=None):
    """An iterator that begins when its `initializer` is run."""
    resource = call("IteratorV2", [], {"shared_name": shared_name or "", "container": "", **types_and_shapes(dataset._elements)})
    return Iterator(dataset._elements, resource, call("MakeIterator", [dataset._variant(), resource]))
