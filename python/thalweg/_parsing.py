"""Serialised examples as tensors."""

import collections

from . import _engine
from ._arrays import constant
from ._graphs import convert_to_tensor, name_scope
from ._op_functions import call
from ._shapes import TensorShape
from ._slices import SparseTensor

FixedLenFeature = collections.namedtuple("FixedLenFeature", ("shape", "dtype", "default_value"), defaults=(None,))
VarLenFeature = collections.namedtuple("VarLenFeature", ("dtype",))
FixedLenSequenceFeature = collections.namedtuple("FixedLenSequenceFeature", ("shape", "dtype", "allow_missing", "default_value"),
                                                 defaults=(False, None))


def _parsed(serialized, features, name, single):
    if not features:
        raise ValueError("Missing: features was None.")
    sparse = [key for key in sorted(features) if isinstance(features[key], VarLenFeature)]
    dense = [key for key in sorted(features) if isinstance(features[key], (FixedLenFeature, FixedLenSequenceFeature))]
    if len(sparse) + len(dense) != len(features):
        raise NotImplementedError("only FixedLenFeature, FixedLenSequenceFeature and VarLenFeature are parsed")
    shapes, defaults = [], []
    for key in dense:
        feature, dtype = features[key], _engine.as_dtype(features[key].dtype)
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            shapes.append(TensorShape([None]).concatenate(feature.shape))
            fill = "" if dtype == "string" else 0
            defaults.append(convert_to_tensor(fill if feature.default_value is None else feature.default_value, dtype))
            continue
        shapes.append(TensorShape(feature.shape))
        if feature.default_value is None:
            defaults.append(constant([], dtype))
        else:
            defaults.append(constant(feature.default_value, dtype, TensorShape(feature.shape).as_list()))
    types = {"sparse_types": [features[k].dtype for k in sparse], "Tdense": [features[k].dtype for k in dense], "dense_shapes": shapes}
    if single:
        made = call("ParseSingleExample", [serialized, defaults], {"num_sparse": len(sparse), "sparse_keys": sparse, "dense_keys": dense, **types}, name)
    else:
        made = call("ParseExample", [serialized, constant([], "string", [0]), [constant(k) for k in sparse], [constant(k) for k in dense], defaults],
                    types, name)
    indices, values, dims, found = made
    parsed = {key: SparseTensor(i, v, d) for key, i, v, d in zip(sparse, indices, values, dims)}
    parsed.update(zip(dense, found))
    return parsed


def parse_example(serialized, features, name=None, example_names=None):
    """A batch of serialised Examples: a tensor, or a sparse one, for each feature."""
    with name_scope(name, "ParseExample"):
        return _parsed(convert_to_tensor(serialized, "string"), features, None, False)


def parse_single_example(serialized, features, name=None, example_names=None):
    with name_scope(name, "ParseSingleExample"):
        return _parsed(convert_to_tensor(serialized, "string"), features, None, True)


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None, na_value="", select_cols=None):
    """The fields of lines, each of the type of its default."""
    defaults = [d if isinstance(d, (_engine.Tensor, _engine.Variable)) else constant([], d) if isinstance(d, _engine.DType)
                else convert_to_tensor(d if isinstance(d, (list, tuple)) else [d]) for d in record_defaults]
    attrs = {"field_delim": field_delim, "use_quote_delim": use_quote_delim, "na_value": na_value}
    if select_cols:
        attrs["select_cols"] = list(select_cols)
    return call("DecodeCSV", [records, defaults], attrs, name)


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """The bytes of strings as numbers."""
    return call("DecodeRaw", [bytes if input_bytes is None else input_bytes], {"out_type": out_type, "little_endian": little_endian}, name)


def string_split(source=None, sep=None, skip_empty=True, delimiter=" ", result_type="SparseTensor", result=None, input=None):
    """The words of each string, as a sparse matrix."""
    delimiter = delimiter if sep is None else sep
    indices, values, shape = call("StringSplit", [input if source is None else source, delimiter], {"skip_empty": skip_empty})
    return SparseTensor(indices, values, shape)
