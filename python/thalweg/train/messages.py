"""Training examples as messages."""

from .. import _engine


class _List:
    _kind = None

    def __init__(self, value=None):
        self.value = list(value) if value is not None else []

    def __eq__(self, other):
        return type(self) is type(other) and self.value == other.value

    def __repr__(self):
        return f"{type(self).__name__}(value={self.value})"

    __hash__ = None


class BytesList(_List):
    _kind = "bytes_list"


class FloatList(_List):
    _kind = "float_list"


class Int64List(_List):
    _kind = "int64_list"


class Feature:
    """Values of one kind."""

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        self._lists = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}

    def _get(self, kind, cls):
        if self._lists[kind] is None:
            self._lists[kind] = cls()
        return self._lists[kind]

    bytes_list = property(lambda self: self._get("bytes_list", BytesList))
    float_list = property(lambda self: self._get("float_list", FloatList))
    int64_list = property(lambda self: self._get("int64_list", Int64List))

    def WhichOneof(self, name):
        return next((kind for kind, values in self._lists.items() if values is not None), None)

    def _plain(self):
        kind = next((k for k, v in self._lists.items() if v is not None and v.value), None) or self.WhichOneof("kind")
        if kind is None:
            return "", []
        values = self._lists[kind].value
        if kind == "bytes_list":
            values = [v if isinstance(v, bytes) else bytes(v) for v in values]
        return kind, [float(v) for v in values] if kind == "float_list" else [int(v) for v in values] if kind == "int64_list" else values


class _Map(dict):
    def __missing__(self, key):
        self[key] = Feature()
        return self[key]


class Features:
    """Features by name."""

    def __init__(self, feature=None):
        self.feature = _Map(feature or {})


class Example:
    """One example."""

    def __init__(self, features=None):
        self.features = features if features is not None else Features()

    def SerializeToString(self):
        return _engine.encode_example({name: feature._plain() for name, feature in self.features.feature.items()})

    def ParseFromString(self, data):
        classes = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}
        found = {name: Feature(**({kind: classes[kind](values)} if kind else {})) for name, (kind, values) in _engine.decode_example(data).items()}
        self.features = Features(found)
        return len(data)

    @classmethod
    def FromString(cls, data):
        made = cls()
        made.ParseFromString(data)
        return made

    def __eq__(self, other):
        return isinstance(other, Example) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None
