"""Values made of several tensors: rows of a gradient, sparse tensors."""

import collections

from ._graphs import convert_to_tensor
from ._shapes import TensorShape

IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class IndexedSlices:
    """Rows `values` at the rows `indices` of a tensor of shape `dense_shape`."""

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def graph(self):
        return self.values.graph

    @property
    def name(self):
        return self.values.name

    def _thalweg_tensor(self):
        from . import raw_ops

        rows = raw_ops.GatherV2(params=self.dense_shape, indices=[0], axis=0)
        return raw_ops.Reshape(
            tensor=raw_ops.UnsortedSegmentSum(data=self.values, segment_ids=self.indices, num_segments=raw_ops.Squeeze(input=rows)),
            shape=self.dense_shape)

    def _thalweg_fetch(self):
        def make(values, indices, dense_shape=None):
            return IndexedSlicesValue(values, indices, dense_shape)

        parts = [self.values, self.indices]
        return make, parts if self.dense_shape is None else parts + [self.dense_shape]

    def __repr__(self):
        return f"IndexedSlices(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


class SparseTensor:
    """Elements `values` at `indices` of a tensor of shape `dense_shape`; all others are zero."""

    def __init__(self, indices, values, dense_shape):
        self.indices = convert_to_tensor(indices, dtype="int64", name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, dtype="int64", name="dense_shape")

    @classmethod
    def from_value(cls, value):
        return value if isinstance(value, cls) else cls(*value)

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def graph(self):
        return self.values.graph

    @property
    def shape(self):
        return TensorShape(self.dense_shape.shape[0] and [None] * self.dense_shape.shape[0])

    get_shape = lambda self: self.shape

    def _thalweg_fetch(self):
        return SparseTensorValue, [self.indices, self.values, self.dense_shape]

    def _thalweg_composite(self):
        return [self.indices, self.values, self.dense_shape], lambda parts: SparseTensor(*parts)

    def _thalweg_feed(self, value):
        return list(zip((self.indices, self.values, self.dense_shape), value))

    def eval(self, feed_dict=None, session=None):
        from ._session import _session_of

        return _session_of(session, self.graph).run(self, feed_dict)

    def __repr__(self):
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"
