"""`TensorArray`: tensors by index, written and read one at a time."""

from . import _engine
from ._arrays import range as range_
from ._graphs import convert_to_tensor
from ._op_functions import call
from ._shapes import TensorShape


class TensorArray:
    """Each write returns an array, which goes on from it. In loops it is a loop variable."""

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None, infer_shape=True,
                 element_shape=None, colocate_with_first_write_call=True, name=None):
        self.dtype, self._element = _engine.as_dtype(dtype), TensorShape(element_shape)
        self._dynamic = bool(dynamic_size)
        if handle is not None:
            self.handle, self.flow = handle, flow
            return
        attrs = {"dtype": self.dtype, "element_shape": self._element, "dynamic_size": self._dynamic,
                 "clear_after_read": clear_after_read is not False, "identical_element_shapes": bool(infer_shape)}
        self.handle, self.flow = call("TensorArrayV3", [0 if size is None else size], attrs, name or "TensorArray")

    def _with(self, flow):
        made = TensorArray(self.dtype, handle=self.handle, flow=flow)
        made._element, made._dynamic = self._element, self._dynamic
        return made

    # In loops and branches, an array is its flow.

    def _thalweg_composite(self):
        return [self.flow], lambda parts: self._with(parts[0])

    def _note(self, value):
        if self._element.rank is None:
            self._element = value.shape
        elif value.shape.rank is not None and self._element != value.shape:
            sizes = zip(self._element, value.shape) if self._element.rank == value.shape.rank else None
            self._element = TensorShape(None) if sizes is None else TensorShape([a if a == b else None for a, b in sizes])

    def identity(self):
        return self._with(call("Identity", [self.flow]))

    def write(self, index, value, name=None):
        value = convert_to_tensor(value, dtype_hint=self.dtype)
        self._note(value)
        return self._with(call("TensorArrayWriteV3", [self.handle, index, value, self.flow], None, name))

    def read(self, index, name=None):
        found = call("TensorArrayReadV3", [self.handle, index, self.flow], {"dtype": self.dtype}, name)
        if self._element.rank is not None:
            found.set_shape(self._element)
        return found

    def size(self, name=None):
        return call("TensorArraySizeV3", [self.handle, self.flow], None, name)

    def gather(self, indices, name=None):
        found = call("TensorArrayGatherV3", [self.handle, indices, self.flow], {"dtype": self.dtype, "element_shape": self._element}, name)
        if self._element.rank is not None:
            found.set_shape(TensorShape([None]).concatenate(self._element))
        return found

    def stack(self, name=None):
        return self.gather(range_(0, self.size()), name)

    def scatter(self, indices, value, name=None):
        value = convert_to_tensor(value, dtype_hint=self.dtype)
        if value.shape.rank:
            self._element = value.shape[1:]
        return self._with(call("TensorArrayScatterV3", [self.handle, indices, value, self.flow], None, name))

    def unstack(self, value, name=None):
        from ._arrays import shape

        value = convert_to_tensor(value, dtype_hint=self.dtype)
        return self.scatter(range_(0, shape(value)[0]), value, name)

    def concat(self, name=None):
        except_0 = self._element[1:] if self._element.rank else TensorShape(None)
        return call("TensorArrayConcatV3", [self.handle, self.flow], {"dtype": self.dtype, "element_shape_except0": except_0}, name)[0]

    def split(self, value, lengths, name=None):
        return self._with(call("TensorArraySplitV3", [self.handle, value, convert_to_tensor(lengths, "int64"), self.flow], None, name))

    def close(self, name=None):
        return call("TensorArrayCloseV3", [self.handle], None, name)
