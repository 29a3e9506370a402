"""Graphs from messages."""

import os

from . import _engine
from ._graphs import get_default_graph, name_scope


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds the nodes of a GraphDef, named `name/..`; `input_map` replaces tensors of it. Returns the elements asked for."""
    graph = get_default_graph()
    data = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    prefix = ""
    if name != "":
        with graph.name_scope(name or "import") as full:
            prefix = full
    mapped = {key if isinstance(key, str) else key.name: value for key, value in (input_map or {}).items()}
    _engine.import_graph_def(graph._scope, data, prefix, mapped)
    if return_elements is None:
        return None
    return [graph.as_graph_element(prefix + element) for element in return_elements]


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """The graph beside a checkpoint, with its variables; returns a `Saver` of them."""
    from .train.saver import Saver

    if import_scope:
        raise NotImplementedError("import_meta_graph with an import_scope")
    data = meta_graph_or_file
    if not isinstance(data, bytes):
        if hasattr(data, "SerializeToString"):
            data = data.SerializeToString()
        else:
            with open(os.fspath(data), "rb") as f:
                data = f.read()
    root = get_default_graph()._root
    _engine.import_meta_graph(root, data)
    return Saver() if root.global_variables() else None
