"""Strings: bytes of any kind, patterns, numbers as text."""

import base64

import numpy as np
import tensorflow as tf

PATTERNS = [b"a", b"[ab]+", b"^a.*", b"(a)(b)?", b"\\d+", b"", b".", b"x{2,3}|c$", b"\\s"]
REWRITES = [b"", b"-", b"<\\0>", b"\\1"]


def words(g, shape):
    return g.array(tf.string, shape)


def texts(g, shape, choices):
    out = np.empty(shape, object)
    for i in np.ndindex(shape):
        out[i] = g.pick(choices)
    return out


def of_input(g):
    """Ops of one tensor of strings and perhaps an attr or two."""
    attrs = {}
    if g.op == "StringLength":
        attrs["unit"] = g.pick(["BYTE", "UTF8_CHAR"])
    elif g.op in ("StringLower", "StringUpper"):
        attrs["encoding"] = g.pick(["", "utf-8"])
    elif g.op == "EncodeBase64":
        attrs["pad"] = g.coin()
    elif g.op.startswith("StringToHashBucket"):
        attrs["num_buckets"] = g.int(1, 1 << 40)
        if g.op.endswith("Strong"):
            attrs["key"] = [g.int(0, 1 << 60), g.int(0, 1 << 60)]
    shape = g.shape(0, 3)
    if attrs.get("encoding") == "utf-8":
        return g.case(texts(g, shape, [b"", b"aBc", "Gr\u00fc\u00df \u00c4".encode(), b"x y"]), **attrs)
    return g.case(words(g, shape), **attrs)


def regex(g):
    pattern, rewrite, x = g.pick(PATTERNS), g.pick(REWRITES), words(g, g.shape(0, 3))
    if g.op == "RegexFullMatch":
        return g.case(x, np.array(pattern, object))
    if g.op == "StaticRegexFullMatch":
        return g.case(x, pattern=pattern)
    whole = {"replace_global": g.coin()}
    if g.op == "RegexReplace":
        return g.case(x, np.array(pattern, object), np.array(rewrite, object), **whole)
    return g.case(x, pattern=pattern, rewrite=rewrite, **whole)


def as_string(g):
    attrs = {}
    if g.t().is_floating or g.t().is_complex:
        attrs = g.pick([{}, {"precision": g.int(0, 8)}, {"scientific": True}, {"shortest": True}, {"precision": 3, "width": 12, "fill": "0"}])
    elif g.t().is_integer:
        attrs = g.pick([{}, {"width": g.int(1, 9)}, {"width": 6, "fill": g.pick(["0", " ", "-"])}])
    return g.case(g.array(g.t(), g.shape(0, 3)), **attrs)


def join(g):
    shape = g.shape(0, 3)
    return g.case([words(g, () if g.coin(0.2) else shape) for _ in range(g.int(1, 4))], separator=g.pick(["", ", "]))


def reduce_join(g):
    shape = g.shape(0, 3)
    axes = g.of([int(a) - (len(shape) if g.coin(0.3) else 0) for a in g.rng.permutation(len(shape))[: g.int(0, len(shape))]], tf.int32)
    return g.case(words(g, shape), axes, keep_dims=g.coin(), separator=g.pick(["", "-"]))


def split(g):
    x = texts(g, (g.int(0, 4),), [b"", b"a b  c", b"a,b,,c", b" x ", b"no", b",", b"1;2,3"])
    separator = np.array(g.pick([b"", b",", b" ", b",;"] if g.op == "StringSplit" else [b"", b",", b" ", b", "]), object)
    return g.case(x, separator, **({"skip_empty": g.coin()} if g.op == "StringSplit" else {"maxsplit": g.pick([-1, 0, 1, 2])}))


def to_number(g):
    good = [b"1", b"-7", b"  3 ", b"123456789"] if g.t("out_type").is_integer else [b"1", b"-2.5", b"1e3", b" 7", b"nan", b"inf", b"-Infinity", b"1e-40", b"0.1", b"16777217"]
    if g.t("out_type").is_unsigned:
        good = [b"1", b"0", b"42"]
    return g.case(texts(g, g.shape(0, 2), good + ([b"x1", b"", b"1 2"] if g.coin(0.2) else [])))


def substr(g):
    unit = g.pick(["BYTE", "UTF8_CHAR"])
    shape = g.shape(0, 2)
    x = texts(g, shape, [b"abcdef", b"longer text", "gr\u00fc\u00df\u00e4".encode()])
    at = shape if g.coin() else ()
    return g.case(x, g.ints(-3, 4, at, g.t()), g.ints(0, 9, at, g.t()), unit=unit)


def decode_raw(g):
    dtype, n = g.t("out_type"), g.int(0, 4)
    x = np.empty(g.shape(0, 2), object)
    for i in np.ndindex(x.shape):
        x[i] = g.array(dtype, (n,)).tobytes()
    return g.case(x, little_endian=g.coin(0.7))


def decode_base64(g):
    choices = [base64.urlsafe_b64encode(b) for b in (b"", b"a", b"ab", b"\xff\xfe\xfd")] + [b"YQ", b"YWI"]
    return g.case(texts(g, g.shape(0, 2), choices + ([b"*", b"Y"] if g.coin(0.1) else [])))


def string_format(g):
    parts = [g.array(g.pick([tf.float32, tf.int32, tf.bool, tf.string, tf.float64]), g.shape(0, 3), "plain") for _ in range(g.int(1, 3))]
    return g.case(parts, template="a" + "{}, " * len(parts), placeholder="{}", summarize=g.pick([1, 3, -1]))


GENERATORS = {op: of_input for op in "StringLength StringLower StringUpper StringStrip EncodeBase64 StringToHashBucket StringToHashBucketFast StringToHashBucketStrong".split()}
GENERATORS |= {op: regex for op in ("RegexFullMatch", "StaticRegexFullMatch", "RegexReplace", "StaticRegexReplace")}
GENERATORS |= {
    "AsString": as_string, "StringJoin": join, "ReduceJoin": reduce_join, "StringSplit": split, "StringSplitV2": split, "StringToNumber": to_number,
    "Substr": substr, "DecodeRaw": decode_raw, "DecodeBase64": decode_base64, "StringFormat": string_format,
}  # fmt: skip
