"""`Dataset`: elements and their transformations. A dataset is a description: its nodes are made when an iterator is."""

from .. import _engine
from .._graphs import convert_to_tensor, current_scope, get_default_graph
from .._op_functions import call
from .._shapes import TensorShape
from .structure import Component, Nested, components, flattened, leaves, mapped, packed, types_and_shapes


def _int64(value, name=None):
    return convert_to_tensor(value, dtype="int64", name=name)


class Options:
    """Accepted, and without effect."""

    def __init__(self):
        self.experimental_deterministic = self.deterministic = None


class Dataset:
    """A sequence of elements, each a tensor or a nested tuple or dict of tensors."""

    def __init__(self, elements, make):
        self._elements, self._make = elements, make

    def _variant(self):
        """The nodes of the dataset, in the current graph."""
        return self._make()

    def _declared(self):
        return types_and_shapes(self._elements)

    # What it is made of.

    @property
    def output_types(self):
        return get_output_types(self)

    @property
    def output_shapes(self):
        return get_output_shapes(self)

    @property
    def element_spec(self):
        return self._elements

    def make_one_shot_iterator(self):
        from .iterator import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        from .iterator import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    def __repr__(self):
        return f"<{type(self).__name__} shapes: {get_output_shapes(self)}, types: {get_output_types(self)}>"

    # Sources.

    @staticmethod
    def from_tensors(tensors):
        elements, given = _given(tensors)
        return Dataset(elements, lambda: call("TensorDataset", [given()], {"output_shapes": [c.shape for c in components(elements)]}))

    @staticmethod
    def from_tensor_slices(tensors):
        whole, given = _given(tensors)

        def row(component):
            if component.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            return Component(component.dtype, component.shape[1:])

        elements = mapped(whole, row)
        sizes = {c.shape[0] for c in components(whole) if c.shape.rank and c.shape[0] is not None}
        if len(sizes) > 1:
            raise ValueError(f"Dimensions {sizes} are not compatible: all components need as many rows")
        return Dataset(elements, lambda: call("TensorSliceDataset", [given()], {"output_shapes": [c.shape for c in components(elements)]}))

    @staticmethod
    def range(*args):
        start, stop, step = {1: lambda: (0, args[0], 1), 2: lambda: (args[0], args[1], 1), 3: lambda: args}[len(args)]()
        elements = Component("int64", [])
        return Dataset(elements, lambda: call("RangeDataset", [_int64(start, "start"), _int64(stop, "stop"), _int64(step, "step")],
                                              types_and_shapes(elements)))

    @staticmethod
    def from_generator(generator, output_types, output_shapes=None, args=None):
        """Elements that a function of Python generates, each time the dataset is iterated over."""
        from .._callbacks import generated

        shapes = mapped(output_types, lambda _: TensorShape(None)) if output_shapes is None else output_shapes
        types, sizes = leaves(output_types), _shape_leaves(shapes)
        parts = iter([Component(t, s) for t, s in zip(types, sizes)])
        elements = mapped(output_types, lambda _: next(parts))
        source = generated(generator, output_types, [(c.dtype, c.shape) for c in components(elements)], tuple(args or ()))
        return Dataset(elements, lambda: source.make(current_scope()))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        elements = Component("string", [])

        def make():
            files = call("MatchingFiles", [file_pattern])
            return call("TensorSliceDataset", [[files]], {"output_shapes": [elements.shape]})

        found = Dataset(elements, make)
        return found if shuffle is False else found.shuffle(10000, seed)

    @staticmethod
    def zip(datasets):
        elements = mapped(datasets, lambda d: d._elements)
        parts = leaves(datasets)
        return Dataset(elements, lambda: call("ZipDataset", [[d._variant() for d in parts]], types_and_shapes(elements)))

    # Transformations that keep elements.

    def _same(self, op, *inputs, **attrs):
        return Dataset(self._elements, lambda: call(op, [self._variant(), *[i() for i in inputs]], {**self._declared(), **attrs}))

    def repeat(self, count=None):
        return self._same("RepeatDataset", lambda: _int64(-1 if count is None else count, "count"))

    def take(self, count):
        return self._same("TakeDataset", lambda: _int64(count, "count"))

    def skip(self, count):
        return self._same("SkipDataset", lambda: _int64(count, "count"))

    def prefetch(self, buffer_size):
        return self._same("PrefetchDataset", lambda: _int64(-1 if buffer_size is None else buffer_size, "buffer_size"))

    def cache(self, filename=""):
        return self._same("CacheDataset", lambda: convert_to_tensor(filename, "string", "filename"))

    def shard(self, num_shards, index):
        return self._same("ShardDataset", lambda: _int64(num_shards, "num_shards"), lambda: _int64(index, "index"))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        seeds = get_default_graph()._scopes[-1].seeds(seed)
        return self._same("ShuffleDataset", lambda: _int64(buffer_size, "buffer_size"), lambda: _int64(seeds[0], "seed"),
                          lambda: _int64(seeds[1], "seed2"), reshuffle_each_iteration=reshuffle_each_iteration is not False)

    def concatenate(self, dataset):
        def common(a, b):
            if a.dtype != b.dtype:
                raise TypeError(f"Incompatible types of datasets: {a.dtype} and {b.dtype}")
            if a.shape.rank is None or a.shape.rank != b.shape.rank:
                return Component(a.dtype, None)
            return Component(a.dtype, [x if x == y else None for x, y in zip(a.shape, b.shape)])

        others = iter(leaves(dataset._elements))
        elements = mapped(self._elements, lambda a: common(a, next(others)))
        return Dataset(elements, lambda: call("ConcatenateDataset", [self._variant(), dataset._variant()], types_and_shapes(elements)))

    def ignore_errors(self):
        return self._same("IgnoreErrorsDataset")

    def apply(self, transformation_func):
        return transformation_func(self)

    def with_options(self, options):
        return self

    # Batches.

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        rows = batch_size if drop_remainder and isinstance(batch_size, int) else None
        elements = mapped(self._elements, lambda c: Component(c.dtype, TensorShape([rows]).concatenate(c.shape)))
        return Dataset(elements, lambda: call("BatchDatasetV2", [self._variant(), _int64(batch_size, "batch_size"), bool(drop_remainder)],
                                              types_and_shapes(elements)))

    def unbatch(self):
        elements = mapped(self._elements, lambda c: Component(c.dtype, c.shape[1:]))
        return Dataset(elements, lambda: call("UnbatchDataset", [self._variant()], types_and_shapes(elements)))

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False):
        parts = components(self._elements)
        if padded_shapes is None:
            padded_shapes = mapped(self._elements, lambda c: [None] * c.shape.rank)
        sizes = [[-1 if d is None else d for d in TensorShape(s)] for s in _shape_leaves(padded_shapes)]
        values = [None] * len(parts) if padding_values is None else leaves(padding_values)
        if len(values) == 1 and len(parts) > 1:
            values = values * len(parts)
        rows = batch_size if drop_remainder else None
        shapes = iter(sizes)
        elements = mapped(self._elements, lambda c: Component(c.dtype, [rows] + [None if d == -1 else d for d in next(shapes)]))

        def value(v, dtype):
            if v is None:
                v = "" if dtype == "string" else False if dtype.is_bool else 0
            return convert_to_tensor(v, dtype)

        def make():
            padding = [value(v, c.dtype) for v, c in zip(values, parts)]
            return call("PaddedBatchDatasetV2", [self._variant(), _int64(batch_size), [_int64(s) for s in sizes], padding, bool(drop_remainder)],
                        {"output_shapes": [c.shape for c in components(elements)]})

        return Dataset(elements, make)

    def window(self, size, shift=None, stride=1, drop_remainder=False):
        elements = mapped(self._elements, lambda c: Nested(c))
        step = size if shift is None else shift
        return Dataset(elements, lambda: call("WindowDataset", [self._variant(), _int64(size), _int64(step), _int64(stride), bool(drop_remainder)],
                                              types_and_shapes(elements)))

    # Functions.

    def _traced(self, function, name):
        """Traces a function of an element once; its name, what it returns, and a function that gives the values around it."""
        parts, structures = components(self._elements), []

        def body(*tensors):
            element = packed(self._elements, tensors)
            made = function(*element) if isinstance(element, tuple) else function(element)
            structure, flat = flattened(made)
            structures.append(structure)
            return flat

        graph = get_default_graph()
        traced, captured, results = graph._scopes[-1].function(name, [(c.dtype, c.shape) for c in parts], body)
        results = iter(results)

        def known(component):
            if not isinstance(component, Component):
                return component
            dtype, dims = next(results)
            return Component(dtype, dims)

        plain = all(isinstance(leaf, Component) for leaf in leaves(structures[0]))
        return traced, mapped(structures[0], known) if plain else structures[0], captured

    def map(self, map_func, num_parallel_calls=None, deterministic=None):
        f, elements, captured = self._traced(map_func, "map")
        attrs = {"f": f, "preserve_cardinality": True}
        if num_parallel_calls is None:
            return Dataset(elements, lambda: call("MapDataset", [self._variant(), captured], {**types_and_shapes(elements), **attrs}))
        return Dataset(elements, lambda: call("ParallelMapDatasetV2", [self._variant(), captured, _int64(num_parallel_calls)],
                                              {**types_and_shapes(elements), **attrs}))

    def filter(self, predicate):
        f, _, captured = self._traced(predicate, "filter")
        return Dataset(self._elements, lambda: call("FilterDataset", [self._variant(), captured], {**self._declared(), "predicate": f}))

    def _expanded(self, map_func, name):
        f, elements, captured = self._traced(map_func, name)
        if not isinstance(elements, Nested):
            raise TypeError(f"`map_func` must return a `Dataset` object, got {elements!r}")
        return f, elements.elements, captured

    def flat_map(self, map_func):
        f, elements, captured = self._expanded(map_func, "flat_map")
        return Dataset(elements, lambda: call("FlatMapDataset", [self._variant(), captured], {**types_and_shapes(elements), "f": f}))

    def interleave(self, map_func, cycle_length=None, block_length=1, num_parallel_calls=None, deterministic=None):
        f, elements, captured = self._expanded(map_func, "interleave")
        cycle = 1 if cycle_length is None or cycle_length < 0 else cycle_length
        return Dataset(elements, lambda: call("InterleaveDataset", [self._variant(), captured, _int64(cycle), _int64(block_length or 1)],
                                              {**types_and_shapes(elements), "f": f}))

    def reduce(self, initial_state, reduce_func):
        """A tensor: the last value of `reduce_func(state, element)`."""
        state, initial = flattened(initial_state)
        parts = components(state) + components(self._elements)
        count = len(components(state))

        def body(*tensors):
            made = reduce_func(packed(state, tensors[:count]), packed(self._elements, tensors[count:]))
            return flattened(made)[1]

        f, captured, results = current_scope().function("reduce", [(c.dtype, c.shape) for c in parts], body)
        made = call("ReduceDataset", [self._variant(), initial, captured],
                    {"f": f, "output_types": [r[0] for r in results], "output_shapes": [TensorShape(r[1]) for r in results]})
        return packed(state, made if isinstance(made, (list, tuple)) else [made])


def _given(tensors):
    """The structure of values, and a function that gives their tensors: values become constants where the nodes are made."""
    if isinstance(tensors, list):
        tensors = tuple(tensors) if any(isinstance(t, (_engine.Tensor, _engine.Variable)) for t in tensors) else tensors
    parts = []

    def leaf(value):
        if isinstance(value, (_engine.Tensor, _engine.Variable)):
            parts.append(value)
            return Component(value.dtype, value.shape)
        array = _engine.to_numpy(value)
        shape = getattr(array, "shape", ())
        dtype = getattr(array, "dtype", None)
        parts.append(array)
        text = dtype is None or dtype.kind in "OSU"
        return Component("string" if text else dtype, shape)

    elements = mapped(tensors, leaf)
    return elements, lambda: [convert_to_tensor(p, name="tensors") for p in parts]


def _shape_leaves(shapes):
    """The shapes of a structure: a shape may itself be a list or a tuple of sizes."""
    if shapes is None or isinstance(shapes, (TensorShape, _engine.Tensor)) or _is_shape(shapes):
        return [TensorShape(shapes)]
    if isinstance(shapes, dict):
        return [leaf for key in sorted(shapes) for leaf in _shape_leaves(shapes[key])]
    return [leaf for part in shapes for leaf in _shape_leaves(part)]


def _is_shape(shapes):
    return isinstance(shapes, list) or (isinstance(shapes, tuple) and all(s is None or isinstance(s, int) for s in shapes))


def get_output_types(dataset_or_iterator):
    return mapped(dataset_or_iterator._elements, lambda c: c.dtype)


def get_output_shapes(dataset_or_iterator):
    return mapped(dataset_or_iterator._elements, lambda c: c.shape)


def get_output_classes(dataset_or_iterator):
    return mapped(dataset_or_iterator._elements, lambda c: _engine.Tensor)


class _Files(Dataset):
    def __init__(self, op, filenames, *more):
        elements = Component("string", [])

        def make():
            if isinstance(filenames, Dataset):
                return filenames.flat_map(lambda name: type(self)(name, *more_arguments))._variant()
            return call(op, [filenames if not isinstance(filenames, str) else [filenames], *more])

        more_arguments = ()
        super().__init__(elements, make)


class TextLineDataset(_Files):
    """The lines of text files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        super().__init__("TextLineDataset", filenames, compression_type or "", _Deferred(buffer_size or 0))


class TFRecordDataset(_Files):
    """The records of TFRecord files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        super().__init__("TFRecordDataset", filenames, compression_type or "", _Deferred(buffer_size or 0))


class FixedLengthRecordDataset(_Files):
    """Records of so many bytes each."""

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None):
        super().__init__("FixedLengthRecordDataset", filenames, _Deferred(header_bytes or 0), _Deferred(record_bytes), _Deferred(footer_bytes or 0),
                         _Deferred(buffer_size or 0))


class _Deferred:
    """A number that becomes an int64 constant where nodes are made."""

    def __init__(self, value):
        self._value = value

    def _thalweg_tensor(self):
        return _int64(self._value)
