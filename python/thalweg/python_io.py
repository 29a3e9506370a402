"""Files of records, and the messages that they hold."""

import os

from . import _engine


class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    def __init__(self, compression_type=None, **ignored):
        self.compression_type = {0: "", 1: "ZLIB", 2: "GZIP", None: ""}.get(compression_type, compression_type)


def _compression(options):
    if options is None:
        return ""
    return options if isinstance(options, str) else options.compression_type or "" if isinstance(options, TFRecordOptions) else TFRecordOptions(
        options).compression_type


class TFRecordWriter:
    """Writes a TFRecord file."""

    def __init__(self, path, options=None):
        self._file = _engine.RecordFile(os.fspath(path), _compression(options))

    def write(self, record):
        self._file.write(record)

    def flush(self):
        self._file.flush()

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def tf_record_iterator(path, options=None):
    """The records of a TFRecord file."""
    return _engine.Records(os.fspath(path), _compression(options))
