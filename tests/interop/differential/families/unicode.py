"""Text in many encodings, code points, scripts, segment joins and n-grams."""

import numpy as np
import tensorflow as tf

TEXTS = ["", "abc", "gr\u00fc\u00df", "\u0416\u0443\u043a", "\u65e5\u672c", "a\tb\n\x00", "\U0001d11e clef", "\u20ac 5"]
# Names of ICU's and of Python's codec.
ENCODINGS = [
    ("UTF-8", "utf-8"), ("UTF-16-BE", "utf-16-be"), ("UTF-16-LE", "utf-16-le"), ("UTF-32-BE", "utf-32-be"), ("UTF-32-LE", "utf-32-le"),
    ("US-ASCII", "ascii"), ("ISO-8859-1", "latin-1"), ("ISO-8859-5", "iso8859-5"), ("ISO-8859-9", "iso8859-9"), ("ISO-8859-15", "iso8859-15"), ("windows-1252", "cp1252"),
    ("windows-1251", "cp1251"), ("KOI8-R", "koi8-r"), ("Shift_JIS", "shift_jis"), ("EUC-JP", "euc-jp"), ("GB18030", "gb18030"), ("Big5", "big5"), ("EUC-KR", "euc-kr"),
]  # fmt: skip
MALFORMED = [b"a\xffb", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98x", b"\xc0\x80"]


def strings(items, shape=None):
    out = np.empty(len(items), object)
    out[:] = items
    return out if shape is None else out.reshape(shape)


def text(g, codec):
    if codec == "utf-8" and g.coin(0.4):
        return g.pick(MALFORMED)
    if codec.startswith("utf-16") and g.coin(0.2):
        return g.pick([b"\x00", b"\xd8\x00\x00a", b"\x00a\x00"])
    return g.pick(TEXTS).encode(codec, errors="ignore")


def from_text(g):
    if "Tsplits" in g.types:
        g.restrict(Tsplits=lambda t: t == tf.int64)  # TensorFlow aborts: its kernel writes int32 into splits of int64
    name, codec = g.pick(ENCODINGS)
    shape = g.shape(0, 2)
    x = strings([text(g, codec) for _ in range(int(np.prod(shape)))], shape)
    attrs = {"input_encoding": name, "errors": g.pick(["strict", "replace", "ignore"]), "replace_control_characters": g.coin(0.3)}
    if g.coin(0.3):
        attrs["replacement_char"] = g.pick([63, 65533, 0x1F600, 0x110000])
    if g.op == "UnicodeTranscode":
        attrs["output_encoding"] = g.pick(["UTF-8", "UTF-16-BE", "UTF-32-BE"])
    return g.case(x, **attrs)


def encode(g):
    counts = [g.int(0, 4) for _ in range(g.int(0, 4))]
    bad = [-1, 0xD800, 0x110000] if g.coin(0.3) else []
    values = [g.pick([97, 233, 0x416, 0x65E5, 0x1D11E, 0, *bad]) for _ in range(sum(counts))]
    splits = np.cumsum([0, *counts])
    return g.case(
        g.of(values, tf.int32), g.of(splits, g.t("Tsplits")), errors=g.pick(["strict", "replace", "ignore"]), output_encoding=g.pick(["UTF-8", "UTF-16-BE", "UTF-32-BE"])
    )


def script(g):
    codes = [97, 0x431, 0x4E00, 0x3042, 0x30A2, 0xAC00, 0x5D0, 0x627, 0x905, 0xE01, 0x300, 0x20, 0x1F600, 0x11A00, 0xD800, -1, 0x110000, 0x7FFFFFFF, 0x10FFFE]
    x = np.array([g.pick(codes) for _ in range(g.int(0, 8))], np.int32)
    return g.case(x)


def segment_join(g):
    ids_shape = g.shape(1, 2, zeros=False)
    inner = g.shape(0, 1, zeros=False)
    segments = g.int(1, 4)
    ids = g.ints(0, segments - 1, ids_shape, g.t("Tindices"))
    return g.case(g.array(tf.string, ids_shape + inner), ids, g.of(segments, g.t("Tnumsegments")), separator=g.pick(["", ", "]))


def n_grams(g):
    counts = [g.int(0, 4) for _ in range(g.int(0, 4))]
    widths = sorted({g.int(1, 4) for _ in range(g.int(1, 2))})
    pad = g.pick([-1, 0, 1, 2])
    attrs = {"separator": g.pick(["", " ", "--"]), "left_pad": g.pick(["", "<"]), "right_pad": g.pick(["", ">"])}
    attrs |= {"ngram_widths": widths, "pad_width": pad, "preserve_short_sequences": pad >= 0 and g.coin()}
    # A program, which is not mutated: TensorFlow does not check the ranks.
    build = lambda t: list(tf.raw_ops.StringNGrams(data=t[0], data_splits=t[1], **attrs))  # noqa: E731
    return g.program(build, g.array(tf.string, (sum(counts),)), g.of(np.cumsum([0, *counts]), g.t("Tsplits")))


GENERATORS = {op: from_text for op in ("UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeTranscode")}
GENERATORS |= {"UnicodeEncode": encode, "UnicodeScript": script, "UnsortedSegmentJoin": segment_join, "StringNGrams": n_grams}
