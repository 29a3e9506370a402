"""Readers of the queue age: a queue of file names, and records of the files."""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
raw = tf.raw_ops
FILES = {
    "lines": b"first\nsecond\r\n\nlast", "none": b"", "fixed": b"HHabcdefghF",
}  # fmt: skip
made = tempfile.TemporaryDirectory(prefix="thalweg_readers_")


def path(name):
    file = pathlib.Path(made.name) / name
    if not file.exists():
        if name == "records":
            with tf.io.TFRecordWriter(str(file)) as writer:
                for record in (b"a", b"", b"ccc" * 100):
                    writer.write(record)
        else:
            file.write_bytes(FILES[name])
    return str(file)


KINDS = {
    "TextLineReader": (["lines", "none"], lambda g: {"skip_header_lines": g.int(0, 2)}),
    "TFRecordReader": (["records"], lambda g: {}),
    "FixedLengthRecordReader": (["fixed"], lambda g: {"record_bytes": g.int(1, 4), "header_bytes": g.int(0, 2), "footer_bytes": g.int(0, 1), "hop_bytes": g.int(0, 3)}),
    "WholeFileReader": (["lines", "none", "records"], lambda g: {}),
    "IdentityReader": (["lines"], lambda g: {}),
}


def reading(g):
    """A few reads in sequence, then the counters; the op decides the kind of reader, or what is asked of it."""
    kind = next((k for k in KINDS if g.op.removesuffix("V2") == k), None) or g.pick(list(KINDS) if g.op.endswith("V2") else ["WholeFileReader"])  # TensorFlow has removed the other old ones
    by_handle = g.op.endswith("V2")
    names, attrs = KINDS[kind]
    attrs = attrs(g)
    files = np.array([path(g.pick(names)) for _ in range(g.int(1, 3))], object)
    asks = g.op.removesuffix("V2")
    many = g.int(0, 4)
    reads = g.int(1, 3)

    def build(t):
        form = "V2" if by_handle else ""
        queue = getattr(raw, "FIFOQueue" + form)(component_types=[tf.string], shapes=[[]], shared_name=g.name(), container="")
        ready = getattr(raw, "QueueEnqueueMany" + form)(handle=queue, components=[t[0]])
        with tf1.control_dependencies([ready]):
            last = getattr(raw, "QueueClose" + form)(handle=queue)
        reader = getattr(raw, kind + form)(shared_name=g.name(), container="", **attrs)
        use = lambda op, **inputs: getattr(raw, op + form)(reader_handle=reader, **inputs)  # noqa: E731
        results = []
        for i in range(reads):
            with tf1.control_dependencies([last]):
                if asks == "ReaderReadUpTo":
                    got = use("ReaderReadUpTo", queue_handle=queue, num_records=tf.constant(many, tf.int64))
                else:
                    got = use("ReaderRead", queue_handle=queue)
            results += list(got)
            last = got[0].op
        with tf1.control_dependencies([last]):
            if asks == "ReaderReset":
                last = use("ReaderReset")
            elif asks in ("ReaderSerializeState", "ReaderRestoreState"):
                state = use("ReaderSerializeState")
                results.append(state)
                last = use("ReaderRestoreState", state=state)
        with tf1.control_dependencies([last]):
            return results + [use("ReaderNumRecordsProduced"), use("ReaderNumWorkUnitsCompleted")]

    return g.program(build, files)


def record_input(g):
    """The shape of a batch: the order is random."""
    size = g.int(1, 9)
    return g.program(lambda t: [raw.Shape(input=raw.RecordInput(file_pattern=path("records"), batch_size=size, file_buffer_size=g.int(1, 20)))])


ASKS = "ReaderRead ReaderReadUpTo ReaderReset ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted ReaderSerializeState ReaderRestoreState".split()
GENERATORS = {op + form: reading for op in [*KINDS, *ASKS] for form in ("", "V2")} | {"RecordInput": record_input}
