"""Serialized messages: Examples, SequenceExamples, tensors, CSV, JSON, compressed bytes, fields of any message."""

import gzip
import json
import zlib

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2

from .unicode import strings

raw = tf.raw_ops
TYPES = [tf.float32, tf.int64, tf.string]


def keys(items):
    return tf.constant(items, tf.string)


def values(g, dtype, n):
    if dtype == tf.string:
        return [g.pick([b"", b"a", b"\xff\x00", b"text"]) for _ in range(n)]
    if dtype == tf.int64:
        return [g.pick([0, 1, -1, 127, 128, 1 << 40, -(1 << 63), (1 << 63) - 1]) for _ in range(n)]
    return [float(np.float32(g.rng.normal())) for _ in range(n)]


def array(dtype, items):
    return strings(items) if dtype == tf.string else np.array(items, dtype.as_numpy_dtype)


def feature(dtype, items):
    if dtype == tf.string:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=items))
    if dtype == tf.int64:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=items))
    return tf.train.Feature(float_list=tf.train.FloatList(value=items))


class Wanted:
    """A feature asked for: its key, type and, if dense, shape."""

    def __init__(self, g, key):
        self.key, self.dtype, self.form = key, g.pick(TYPES), g.pick(["dense", "sparse", "ragged", "padded"])
        self.shape = g.pick([[], [1], [2], [2, 2], [3]]) if self.form == "dense" else [None, 2] if g.coin(0.3) else [None]
        self.split = g.pick([tf.int32, tf.int64])
        default = g.coin() and self.form == "dense"
        n = int(np.prod(self.shape)) if self.form == "dense" else 1
        self.default = array(self.dtype, values(g, self.dtype, n if default else 0))
        if default:
            self.default = self.default.reshape(self.shape)
        elif self.form == "padded":
            self.default = array(self.dtype, values(g, self.dtype, 1))

    def random(self, g, wrong):
        """A value in a message; `None` if it is missing there."""
        if g.coin(0.25 if wrong or self.form != "dense" or self.default.size else 0):
            return None
        n = int(np.prod(self.shape)) if self.form == "dense" else g.int(0, 3) * (2 if self.shape == [None, 2] else 1)
        dtype = g.pick(TYPES) if wrong and g.coin(0.3) else self.dtype
        return feature(dtype, values(g, dtype, n + (1 if wrong and g.coin(0.2) else 0)))


def wanted(g, forms, prefix=""):
    found = [Wanted(g, f"{prefix}{i}") for i in range(g.int(1, 4))]
    return [[w for w in found if w.form in f] for f in forms], found


def example(g, features, wrong):
    made = {w.key: w.random(g, wrong) for w in features}
    made["other"] = feature(tf.int64, [7])
    bytes_ = tf.train.Example(features=tf.train.Features(feature={k: v for k, v in made.items() if v is not None})).SerializeToString()
    # TensorFlow's client cannot read errors that quote other bytes.
    return g.pick([b"", b"\n\x05ab", b"\n\x02\n\x01"]) if wrong and g.coin(0.3) else bytes_


def parse_example(g):
    has_ragged = g.op == "ParseExampleV2"
    (dense, sparse, ragged), features = wanted(g, [("dense", "padded"), ("sparse",) if has_ragged else ("sparse", "ragged"), ("ragged",) if has_ragged else ()])
    wrong, single = g.coin(0.2), g.op == "ParseSingleExample" or has_ragged and g.coin(0.3)
    rows = 1 if single else g.int(0, 4)
    batch = strings([example(g, features, wrong) for _ in range(rows)], () if single else (rows,))
    common = {"sparse_types": [w.dtype for w in sparse], "dense_shapes": [w.shape for w in dense]}
    sparse_keys, dense_keys = [w.key for w in sparse], [w.key for w in dense]

    def build(t):
        defaults = [tf.constant(w.default, w.dtype) for w in dense]
        attrs = {**common, "dense_defaults": defaults}
        if g.op == "ParseSingleExample":
            return list(raw.ParseSingleExample(serialized=t[0], num_sparse=len(sparse), sparse_keys=sparse_keys, dense_keys=dense_keys, **attrs))
        if g.op == "ParseExample":
            return list(raw.ParseExample(serialized=t[0], names=keys([]), sparse_keys=sparse_keys, dense_keys=dense_keys, **attrs))
        return list(
            raw.ParseExampleV2(
                serialized=t[0], names=keys([]), sparse_keys=keys(sparse_keys), dense_keys=keys(dense_keys), ragged_keys=keys([w.key for w in ragged]), num_sparse=len(sparse),
                ragged_value_types=[w.dtype for w in ragged], ragged_split_types=[w.split for w in ragged], **attrs,
            )
        )  # fmt: skip

    return g.program(lambda t: flat(build(t)), batch)


def flat(results):
    return [x for r in results for x in (r if isinstance(r, list) else [r])]


def parse_sequence_example(g):
    is_v2 = g.op == "ParseSequenceExampleV2"
    forms = [("dense",), ("sparse", "padded") if is_v2 else ("sparse", "ragged", "padded"), ("ragged",) if is_v2 else ()]
    (dense, sparse, ragged), context = wanted(g, forms, "c")
    (list_dense, list_sparse, list_ragged), lists = wanted(g, forms, "l")
    single = g.op == "ParseSingleSequenceExample" or is_v2 and g.coin(0.3)
    wrong = g.coin(0.15)
    rows = 1 if single else g.int(1, 4)
    may_miss = {w.key: g.coin() for w in list_dense}

    def message():
        made = {w.key: w.random(g, wrong) for w in context}
        steps = {}
        for w in lists:
            if not (may_miss.get(w.key, True) and g.coin(0.2)):
                n = lambda: int(np.prod(w.shape)) if w.form == "dense" else g.int(0, 2)  # noqa: E731
                steps[w.key] = tf.train.FeatureList(feature=[feature(w.dtype, values(g, w.dtype, n())) for _ in range(g.int(0, 3))])
        message = tf.train.SequenceExample(
            context=tf.train.Features(feature={k: v for k, v in made.items() if v is not None}), feature_lists=tf.train.FeatureLists(feature_list=steps)
        )
        return message.SerializeToString()

    batch = strings([message() for _ in range(rows)], () if single else (rows,))
    names = lambda of: [w.key for w in of]  # noqa: E731
    types = lambda of: [w.dtype for w in of]  # noqa: E731
    missing = [k for k, may in may_miss.items() if may]

    def build(t):
        common = {
            "context_dense_defaults": [tf.constant(w.default, w.dtype) for w in dense], "context_sparse_types": types(sparse), "context_dense_shapes": [w.shape for w in dense],
            "feature_list_dense_types": types(list_dense), "feature_list_sparse_types": types(list_sparse), "feature_list_dense_shapes": [w.shape for w in list_dense],
        }  # fmt: skip
        if g.op == "ParseSingleSequenceExample":
            return raw.ParseSingleSequenceExample(
                serialized=t[0], feature_list_dense_missing_assumed_empty=keys(missing), context_sparse_keys=names(sparse), context_dense_keys=names(dense),
                feature_list_sparse_keys=names(list_sparse), feature_list_dense_keys=names(list_dense), debug_name="", **common,
            )  # fmt: skip
        common |= {"Ncontext_sparse": len(sparse), "Nfeature_list_sparse": len(list_sparse), "Nfeature_list_dense": len(list_dense)}
        if g.op == "ParseSequenceExample":
            return raw.ParseSequenceExample(
                serialized=t[0], debug_name=keys([]), feature_list_dense_missing_assumed_empty=missing, context_sparse_keys=names(sparse), context_dense_keys=names(dense),
                feature_list_sparse_keys=names(list_sparse), feature_list_dense_keys=names(list_dense), Ncontext_dense=len(dense), **common,
            )  # fmt: skip
        return raw.ParseSequenceExampleV2(
            serialized=t[0], debug_name=keys([]), context_sparse_keys=keys(names(sparse)), context_dense_keys=keys(names(dense)), context_ragged_keys=keys(names(ragged)),
            feature_list_sparse_keys=keys(names(list_sparse)), feature_list_dense_keys=keys(names(list_dense)), feature_list_ragged_keys=keys(names(list_ragged)),
            feature_list_dense_missing_assumed_empty=tf.constant([may_miss[w.key] for w in list_dense], tf.bool), context_ragged_value_types=types(ragged),
            context_ragged_split_types=[w.split for w in ragged], feature_list_ragged_value_types=types(list_ragged), feature_list_ragged_split_types=[w.split for w in list_ragged], **common,
        )  # fmt: skip

    def fetched(t):
        # Without a batch, TensorFlow leaves the splits of rows as they were in memory.
        junk = (5, 12) if single and is_v2 else ()
        return flat([r for i, r in enumerate(build(t)) if i not in junk])

    return g.program(fetched, batch)


def csv(g):
    types = [g.pick([tf.float32, tf.float64, tf.int32, tf.int64, tf.string]) for _ in range(g.int(1, 4))]
    texts = {True: [b"1", b"-7", b" 3 ", b"123456"], False: [b"1.5", b"-2e3", b"nan", b" 7", b"0x10"], None: [b"a", b'"b, ""c"""', b"", b'"x"', b"left right"]}
    kind = lambda t: None if t == tf.string else t.is_integer  # noqa: E731
    bad = [b"x", b'a"b', b'"open', b'"a"b', b"1\n2", b""] if g.coin(0.2) else []
    delimiter = g.pick([b",", b";"])
    field = lambda t: g.pick(bad) if bad and g.coin(0.3) else b"" if g.coin(0.1) else g.pick(texts[kind(t)])  # noqa: E731
    extra = g.int(0, 2) if g.coin(0.3) else 0
    record = lambda: delimiter.join([field(t) for t in types] + [b"z"] * extra)  # noqa: E731
    shape = g.shape(0, 2)
    records = strings([record() for _ in range(int(np.prod(shape)))], shape)
    has = [g.coin(0.7) for _ in types]
    default = lambda t, h: np.array([b"d" if t == tf.string else 5] if h else [], object if t == tf.string else t.as_numpy_dtype)  # noqa: E731
    defaults = [default(t, h) for t, h in zip(types, has)]
    attrs = {"field_delim": delimiter.decode(), "use_quote_delim": g.coin(0.8), "na_value": g.pick(["", "nan", "a"])}
    if extra:
        attrs["select_cols"] = list(range(len(types)))

    def build(t):
        return list(raw.DecodeCSV(records=t[0], record_defaults=[tf.constant(d, ty) for d, ty in zip(defaults, types)], **attrs))

    return g.program(build, records)


def json_example(g):
    number = lambda: g.pick([1, -2.5, "3", "NaN", 1e3, "-Infinity"])  # noqa: E731
    whole = lambda: g.pick([1, "2", -3, "9223372036854775807", 1.0])  # noqa: E731
    lists = [{"floatList": {"value": [number() for _ in range(g.int(0, 3))]}}, {"int64List": {"value": [whole()]}}, {"bytesList": {"value": ["YWI=", "_-8"]}}, {}]
    good = lambda: json.dumps({"features": {"feature": {g.pick("abc"): g.pick(lists) for _ in range(g.int(0, 3))}}}).encode()  # noqa: E731
    bad = [b"", b"[1]", b'{"x": 1}', b'{"features": {}} x', b'{"features": {"feature": {"a": {"int64List": {"value": [1.5]}}}}}', b'{"features": ']
    shape = g.shape(0, 2)
    return g.case(strings([g.pick(bad) if g.coin(0.05) else good() for _ in range(int(np.prod(shape)))], shape))


def serialize(g):
    return g.case(g.array(g.t(), g.shape(0, 3)))


def parse_tensor(g):
    dtype = g.t("out_type")
    message = tf.make_tensor_proto(g.array(dtype, g.shape(0, 3)), dtype).SerializeToString()
    if g.coin(0.2):
        message = message[: g.int(0, len(message))]
    return g.case(np.array(message, object), out_type=g.pick([tf.float32, tf.int32]) if g.coin(0.1) else dtype)


def decompress(g):
    how = g.pick(["", "ZLIB", "GZIP", "NOPE"] if g.coin(0.1) else ["", "ZLIB", "GZIP"])
    pack = {"ZLIB": zlib.compress, "GZIP": gzip.compress}.get(how, lambda b: b)
    shape = g.shape(0, 2)
    items = [b"junk" if g.coin(0.05) else pack(g.pick([b"", b"hello", b"x" * 10000])) for _ in range(int(np.prod(shape)))]
    return g.case(strings(items, shape), compression_type=how)


def padded_raw(g):
    size = g.t("out_type").size
    return g.case(g.array(tf.string, g.shape(0, 2)), np.int32(size * g.int(1, 4) + (1 if g.coin(0.1) else 0)), little_endian=g.coin(0.7))


PROTO_FIELDS = {
    "double": tf.float64, "float": tf.float32, "int64": tf.int64, "uint64": tf.uint64, "int32": tf.int32, "fixed64": tf.uint64, "fixed32": tf.uint32, "bool": tf.bool,
    "string": tf.string, "group": tf.string, "message": tf.string, "bytes": tf.string, "uint32": tf.uint32, "enum": tf.int32, "sfixed32": tf.int32, "sfixed64": tf.int64,
    "sint32": tf.int32, "sint64": tf.int64,
}  # fmt: skip
PROTO_DEFAULTS = {"double": "1.5", "float": "-inf", "int64": "-5", "uint32": "4", "bool": "true", "string": "s", "bytes": "\\001x", "enum": "B", "sint32": "-1"}


def proto_source(syntax):
    """Descriptors of a message `p.M` that has each type of field: one, repeated as is the custom of the syntax, and packed."""
    file = descriptor_pb2.FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    message = file.message_type.add(name="M")
    for number, kind in enumerate(PROTO_FIELDS, 1):
        if kind == "group" and syntax == "proto3":
            continue
        for label, first, prefix in ((1, 0, ""), (3, 100, "r_"), (3, 200, "p_")):
            if prefix == "p_" and PROTO_FIELDS[kind] == tf.string or prefix and kind == "group":
                continue
            field = message.field.add(name=prefix + kind, number=first + number, type=number, label=label)
            if prefix == "p_":
                field.options.packed = True
            if kind == "group":
                field.type_name = ".p.M.Group"
                message.nested_type.add(name="Group").field.add(name="x", number=1, type=5, label=1)
            if kind in ("message", "enum"):
                field.type_name = {"message": ".p.M", "enum": ".p.E"}[kind]
            if not prefix and syntax == "proto2" and kind in PROTO_DEFAULTS:
                field.default_value = PROTO_DEFAULTS[kind]
    kinds = file.enum_type.add(name="E")
    kinds.value.add(name="A", number=0)
    kinds.value.add(name="B", number=3)
    return b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), message


def proto_fields(g):
    """A source of descriptors, and names and types of some of its fields."""
    source, message = proto_source(g.pick(["proto2", "proto3"]))
    names = [f.name for f in message.field]
    picked = list(dict.fromkeys(g.pick(names) for _ in range(g.int(1, 5))))
    types = [PROTO_FIELDS[n.split("_")[-1]] for n in picked]
    wider = {"float": tf.float64, "int32": tf.int64, "sint32": tf.int64, "uint32": tf.uint64, "fixed32": tf.uint64}
    types = [wider.get(n.split("_")[-1], t) if g.coin(0.3) else t for n, t in zip(picked, types)]
    if g.coin(0.05):
        types[0] = g.pick([tf.float32, tf.string, tf.int8])
    return source, message, picked, types


def proto_values(g, dtype, shape):
    if dtype == tf.string:
        # Messages, so that they are good anywhere.
        return strings([g.pick([b"", b"\x08\x01"]) for _ in range(int(np.prod(shape)))], shape)
    return g.array(dtype, shape, "plain") if dtype.is_floating else g.array(dtype, shape)


def encode_proto(g):
    source, _, names, types = proto_fields(g)
    batch = [g.int(0, 3)] if g.coin(0.8) else [2, 2]
    widths = [g.int(0, 3) for _ in names]
    counts = np.array([[g.int(0, w) for w in widths] for _ in range(int(np.prod(batch)))], np.int32).reshape([*batch, len(names)])
    if g.coin(0.1):
        counts = counts + 1
    values = [proto_values(g, t, (*batch, w)) for t, w in zip(types, widths)]

    def build(t):
        return [raw.EncodeProto(sizes=t[0], values=list(t[1:]), field_names=names, message_type="p.M", descriptor_source=source)]

    return g.program(build, counts, *values)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def decode_proto(g):
    source, message, names, types = proto_fields(g)
    wire = {1: 1, 2: 5, 6: 1, 7: 5, 9: 2, 10: 3, 11: 2, 12: 2, 15: 5, 16: 1}

    def field():
        f = g.pick([f for f in message.field if f.name in names] if g.coin(0.8) else list(message.field))
        kind = wire.get(f.type, 0)
        value = {0: lambda: varint(g.pick([0, 1, 3, 127, 300, -1, 1 << 40])), 1: lambda: g.rng.bytes(6) + b"\xf0\x3f", 5: lambda: g.rng.bytes(2) + b"\x80\x3f", 2: lambda: b"", 3: lambda: b""}[kind]
        if kind == 2:
            text = g.pick([b"", b"\x28\x01", b"text"])
            return varint(f.number << 3 | 2) + varint(len(text)) + text
        if kind == 3:
            return varint(f.number << 3 | 3) + b"\x08\x01" + varint(f.number << 3 | 4)
        if f.label == 3 and g.coin():
            packed = b"".join(value() for _ in range(g.int(0, 4)))
            return varint(f.number << 3 | 2) + varint(len(packed)) + packed
        return varint(f.number << 3 | kind) + value()

    def one():
        made = b"".join(field() for _ in range(g.int(0, 5)))
        return made[: g.int(0, len(made))] if g.coin(0.03) else made

    shape = g.shape(0, 2, zeros=False)
    messages = strings([one() for _ in range(int(np.prod(shape)))], shape)
    names = [*names, "nothing"] if g.coin(0.03) else names
    types = [*types, tf.string] if len(names) > len(types) else types

    def build(t):
        return flat(raw.DecodeProtoV2(bytes=t[0], message_type="p.M", field_names=names, output_types=types, descriptor_source=source))

    return g.program(build, messages)


GENERATORS = {op: parse_example for op in ("ParseExample", "ParseExampleV2", "ParseSingleExample")}
GENERATORS |= {op: parse_sequence_example for op in ("ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample")}
GENERATORS |= {
    "DecodeCSV": csv, "DecodeJSONExample": json_example, "SerializeTensor": serialize, "ParseTensor": parse_tensor, "DecodeCompressed": decompress, "DecodePaddedRaw": padded_raw,
    "DecodeProtoV2": decode_proto, "EncodeProto": encode_proto,
}  # fmt: skip
