"""Sessions and their options."""

import collections
import threading

from . import _engine
from ._graphs import get_default_graph


class _Default(threading.local):
    def __init__(self):
        self.sessions = []


_default = _Default()


def get_default_session():
    return _default.sessions[-1] if _default.sessions else None


def _session_of(session, graph):
    """The given session, or the default one."""
    session = session if session is not None else get_default_session()
    if session is None:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or pass an"
                         " explicit session to `eval(session=sess)`")
    if session.graph is not graph:
        raise ValueError("Cannot use the default session to evaluate tensor: the tensor's graph is different from the session's graph. Pass"
                         " an explicit session to `eval(session=sess)`.")
    return session


class _Options:
    """Options by name, as fields that may be set."""

    _defaults = {}

    def __init__(self, **given):
        for key, default in self._defaults.items():
            setattr(self, key, default() if callable(default) else default)
        for key, value in given.items():
            if key not in self._defaults:
                raise ValueError(f"Protocol message {type(self).__name__} has no \"{key}\" field.")
            setattr(self, key, value)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self._defaults)})"


class GPUOptions(_Options):
    """Accepted, and without effect."""

    _defaults = {"allow_growth": False, "per_process_gpu_memory_fraction": 0.0, "visible_device_list": "", "allocator_type": ""}


class OptimizerOptions(_Options):
    L0, L1 = -1, 0
    _defaults = {"opt_level": 0, "do_constant_folding": True, "do_function_inlining": True, "do_common_subexpression_elimination": True,
                 "global_jit_level": 0}


class GraphOptions(_Options):
    _defaults = {"optimizer_options": OptimizerOptions, "place_pruned_graph": False, "infer_shapes": True}


class ConfigProto(_Options):
    _defaults = {"intra_op_parallelism_threads": 0, "inter_op_parallelism_threads": 0, "allow_soft_placement": False,
                 "log_device_placement": False, "operation_timeout_in_ms": 0, "device_count": dict, "device_filters": list,
                 "gpu_options": GPUOptions, "graph_options": GraphOptions, "use_per_session_threads": False}

    def _settings(self):
        found = {"threads": self.intra_op_parallelism_threads, "soft_placement": bool(self.allow_soft_placement),
                 "log_device_placement": bool(self.log_device_placement), "device_filters": list(self.device_filters),
                 "optimise": self.graph_options.optimizer_options.opt_level >= 0}
        if self.operation_timeout_in_ms > 0:
            found["timeout_in_ms"] = self.operation_timeout_in_ms
        if self.device_count.get("CPU"):
            found["cpu_devices"] = self.device_count["CPU"]
        return found


class RunOptions(_Options):
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)
    _defaults = {"trace_level": 0, "timeout_in_ms": 0, "inter_op_thread_pool": 0, "output_partition_graphs": False,
                 "report_tensor_allocations_upon_oom": False}


class RunMetadata:
    """What a traced step tells: a serialised message, which event files take."""

    def __init__(self):
        self._bytes = b""

    def ParseFromString(self, data):
        self._bytes = bytes(data)

    def SerializeToString(self):
        return self._bytes


_NodeDef = collections.namedtuple("NodeDef", ["name", "op", "input", "device"])


class GraphDef:
    """A graph as a message."""

    def __init__(self, data=b"", text=None):
        self._bytes, self._text = bytes(data), text

    def SerializeToString(self):
        return self._bytes

    def ParseFromString(self, data):
        self._bytes, self._text = bytes(data), None
        return len(data)

    @classmethod
    def FromString(cls, data):
        return cls(data)

    @property
    def node(self):
        """The nodes: name, op, inputs and device of each."""
        return [_NodeDef(*node) for node in _engine.graph_nodes(self._bytes)]

    def _node(self, name):
        return next(node for node in self.node if node.name == name)

    def ByteSize(self):
        return len(self._bytes)

    def __str__(self):
        return self._text() if self._text else repr(self._bytes)

    def __eq__(self, other):
        return isinstance(other, GraphDef) and self._bytes == other._bytes


class Session(_engine.Session):
    """Runs a graph, in this process or, with the target `grpc://host:port`, on a server."""

    def __new__(cls, target="", graph=None, config=None):
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"Argument `target` must be a string. Received: {target!r}")
        if graph is not None and not hasattr(graph, "_root"):
            raise TypeError(f"Argument `graph` must be a tf.Graph. Received: {graph!r}")
        graph = graph if graph is not None else get_default_graph()
        target = target.decode() if isinstance(target, bytes) else target
        made = super().__new__(cls, graph._root, target, config._settings() if config is not None else None)
        made.sess_str = target
        made._entered = []
        return made

    def as_default(self):
        return _AsDefault(self)

    def __enter__(self):
        context = _AsDefault(self)
        self._entered.append(context)
        context.__enter__()
        return self

    def __exit__(self, *exc):
        self._entered.pop().__exit__(*exc)
        self.close()

    def list_devices(self):
        return [_Device(name) for name in self._devices()]

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the values of `feed_list` that runs the fetches."""
        feeds = list(feed_list or ())

        def run(*values, options=None, run_metadata=None):
            if len(values) != len(feeds):
                raise TypeError(f"takes {len(feeds)} values, got {len(values)}")
            return self.run(fetches, dict(zip(feeds, values)), options, run_metadata)

        return run

    @property
    def graph_def(self):
        return self.graph.as_graph_def()


class _Device:
    def __init__(self, name):
        self.name, self.device_type = name, name.rsplit("/device:", 1)[-1].split(":")[0]

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type})"


class _AsDefault:
    """Makes a session, and its graph, the default."""

    def __init__(self, session):
        self._session = session
        self._graph = session.graph.as_default()

    def __enter__(self):
        self._graph.__enter__()
        _default.sessions.append(self._session)
        return self._session

    def __exit__(self, *exc):
        _default.sessions.remove(self._session)
        self._graph.__exit__(*exc)


class InteractiveSession(Session):
    """A session that is the default one until it is closed."""

    def __new__(cls, target="", graph=None, config=None):
        made = super().__new__(cls, target, graph, config)
        made._explicit_graph = made.graph.as_default() if graph is not None else None
        if made._explicit_graph is not None:
            made._explicit_graph.__enter__()
        _default.sessions.append(made)
        return made

    def close(self):
        super().close()
        if self in _default.sessions:
            _default.sessions.remove(self)
            if self._explicit_graph is not None:
                self._explicit_graph.__exit__(None, None, None)
