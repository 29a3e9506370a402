"""Lookup tables."""

from . import _engine
from ._arrays import constant
from ._graphs import GraphKeys, convert_to_tensor, get_default_graph, name_scope
from ._op_functions import call
from ._slices import SparseTensor


class KeyValueTensorInitializer:
    """Keys and values in memory."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        self.keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
        self.values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self.key_dtype, self.value_dtype = self.keys.dtype, self.values.dtype

    def initialize(self, table):
        init = call("InitializeTableV2", [table.resource_handle, self.keys, self.values], None, "table_init")
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
        return init


class TextFileIndex:
    WHOLE_LINE, LINE_NUMBER = -2, -1


class TextFileInitializer:
    """Keys and values from columns of a text file."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t", name=None):
        self.key_dtype, self.value_dtype = _engine.as_dtype(key_dtype), _engine.as_dtype(value_dtype)
        self._file = constant(filename, name="asset_filepath")
        get_default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, self._file)
        self._attrs = {"key_index": key_index, "value_index": value_index, "vocab_size": -1 if vocab_size is None else vocab_size,
                       "delimiter": delimiter}

    def initialize(self, table):
        init = call("InitializeTableFromTextFileV2", [table.resource_handle, self._file], self._attrs, "table_init")
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
        return init


class _Table:
    def lookup(self, keys, name=None):
        """The values of keys; of the missing ones the default value."""
        values = keys.values if isinstance(keys, SparseTensor) else keys
        found = call("LookupTableFindV2", [self.resource_handle, values, self.default_value], None, name)
        return SparseTensor(keys.indices, found, keys.dense_shape) if isinstance(keys, SparseTensor) else found

    def size(self, name=None):
        return call("LookupTableSizeV2", [self.resource_handle], None, name)

    def export(self, name=None):
        return call("LookupTableExportV2", [self.resource_handle], {"Tkeys": self.key_dtype, "Tvalues": self.value_dtype}, name)


class StaticHashTable(_Table):
    """A table that is filled once, by `tf.tables_initializer()`."""

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        self.key_dtype, self.value_dtype = initializer.key_dtype, initializer.value_dtype
        with name_scope(name, "hash_table"):
            attrs = {"key_dtype": self.key_dtype, "value_dtype": self.value_dtype}
            self.resource_handle = call("HashTableV2", [], attrs, "hash_table")
            self.default_value = convert_to_tensor(default_value, dtype=self.value_dtype)
            self.initializer = initializer.initialize(self)

    init = property(lambda self: self.initializer)


class MutableHashTable(_Table):
    """A table that steps change."""

    def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True):
        self.key_dtype, self.value_dtype = _engine.as_dtype(key_dtype), _engine.as_dtype(value_dtype)
        self.resource_handle = call("MutableHashTableV2", [], {"key_dtype": self.key_dtype, "value_dtype": self.value_dtype}, name)
        self.default_value = convert_to_tensor(default_value, dtype=self.value_dtype)

    def insert(self, keys, values, name=None):
        return call("LookupTableInsertV2", [self.resource_handle, convert_to_tensor(keys, self.key_dtype),
                                            convert_to_tensor(values, self.value_dtype)], None, name)

    def remove(self, keys, name=None):
        return call("LookupTableRemoveV2", [self.resource_handle, convert_to_tensor(keys, self.key_dtype)], None, name)


class StaticVocabularyTable(_Table):
    """Ids of words, and hashed ids of the words that are missing."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None):
        self._table = StaticHashTable(initializer, -1)
        self._buckets, self.key_dtype, self.value_dtype = num_oov_buckets, initializer.key_dtype, initializer.value_dtype
        self.initializer = self._table.initializer

    resource_handle = property(lambda self: self._table.resource_handle)

    def size(self, name=None):
        return self._table.size() + self._buckets

    def lookup(self, keys, name=None):
        from ._arrays import where_v2

        values = keys.values if isinstance(keys, SparseTensor) else convert_to_tensor(keys)
        found = self._table.lookup(values)
        if self._buckets:
            text = values if values.dtype == "string" else call("AsString", [values])
            hashed = call("StringToHashBucketFast", [text], {"num_buckets": self._buckets})
            found = where_v2(call("NotEqual", [found, convert_to_tensor(-1, found.dtype)]), found, hashed + self._table.size())
        return SparseTensor(keys.indices, found, keys.dense_shape) if isinstance(keys, SparseTensor) else found
