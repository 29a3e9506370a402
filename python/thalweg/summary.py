"""Summaries for TensorBoard."""

from . import _engine
from ._graphs import current_scope, get_default_graph
from ._op_functions import call


def scalar(name, tensor, collections=None, family=None):
    return _engine.summary(current_scope(), "scalar", name, tensor)


def histogram(name, values, collections=None, family=None):
    return _engine.summary(current_scope(), "histogram", name, values)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    return _engine.summary(current_scope(), "image", name, tensor, max_outputs)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    return _engine.summary(current_scope(), "audio", name, tensor, max_outputs, sample_rate)


def text(name, tensor, collections=None):
    return _engine.summary(current_scope(), "text", name, tensor)


def merge(inputs, collections=None, name=None):
    return call("MergeSummary", [list(inputs)], None, name)


def merge_all(key="summaries", scope=None, name=None):
    if key != "summaries" or scope is not None:
        found = get_default_graph().get_collection(key, scope)
        return merge(found, name=name) if found else None
    return _engine.merge_all_summaries(current_scope())


class _Value:
    """A value of a summary."""

    def __init__(self, tag="", simple_value=0.0, node_name="", **others):
        if others:
            raise NotImplementedError(f"tf.Summary.Value with {', '.join(others)}: use the ops of tf.summary")
        self.tag, self.simple_value, self.node_name = tag, simple_value, node_name

    def __repr__(self):
        return f"tag: {self.tag!r} simple_value: {self.simple_value}"


class _Values(list):
    def add(self, **given):
        self.append(_Value(**given))
        return self[-1]


class Summary:
    """Numbers by name, made by hand."""

    Value = _Value

    def __init__(self, value=()):
        self.value = _Values(value)


class Event:
    """An event of a file."""

    def __init__(self, wall_time=0.0, step=0, summary=None):
        self.wall_time, self.step, self.summary = wall_time, step, summary if summary is not None else Summary()


def summary_iterator(path):
    """The events of a file."""
    import os

    for time, step, values in _engine.events(os.fspath(path)):
        made = []
        for tag, number, data in values:
            value = _Value(tag, number or 0.0)
            value._bytes, value._is_number = data, number is not None
            made.append(value)
        yield Event(time, step, Summary(made))


class FileWriterCache:
    """One writer for each directory."""

    _writers = {}

    @classmethod
    def get(cls, logdir):
        if logdir not in cls._writers:
            cls._writers[logdir] = FileWriter(logdir)
        return cls._writers[logdir]

    @classmethod
    def clear(cls):
        cls._writers.clear()


class FileWriter:
    """Writes an event file, which TensorBoard can show while it grows."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        self._logdir = logdir
        self._writer = _engine.FileWriter(logdir, filename_suffix or "")
        if session is not None:
            self._writer.add_session_graph(session)
        elif graph is not None:
            self.add_graph(graph)

    def get_logdir(self):
        return self._logdir

    def add_summary(self, summary, global_step=None):
        step = int(global_step or 0)
        if not isinstance(summary, Summary):
            self._writer.add_summary(summary, step)
            return
        for value in summary.value:
            self._writer.add_scalar(value.tag, value.simple_value, step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Accepted, and without effect."""

    def add_event(self, event):
        self.add_summary(event.summary, event.step)

    def add_session_log(self, session_log, global_step=None):
        """Accepted, and without effect."""

    def reopen(self):
        """The file is open."""

    def add_graph(self, graph, global_step=None):
        self._writer.add_graph(graph._root)

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.flush()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
