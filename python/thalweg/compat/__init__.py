"""`tf.compat.v1` is the package itself."""

import sys as _sys

import thalweg as v1

_sys.modules[__name__ + ".v1"] = v1


def as_bytes(text, encoding="utf-8"):
    return text if isinstance(text, bytes) else text.encode(encoding)


def as_text(text, encoding="utf-8"):
    return text.decode(encoding) if isinstance(text, bytes) else text


as_str = as_text
