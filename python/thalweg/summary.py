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
    return _engine.merge_all_summaries(current_scope())


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
        self._writer.add_summary(summary, int(global_step or 0))

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
