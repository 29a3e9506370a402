"""Writing SavedModels: the engine does."""

import os

from .. import _engine
from ..errors import AlreadyExistsError


class SavedModelBuilder:
    """Writes a graph with its variables to a directory that is not there yet."""

    def __init__(self, export_dir):
        self._directory, self._given = os.fspath(export_dir), None
        if os.path.exists(self._directory) and os.listdir(self._directory):
            raise AssertionError(f"Export directory {self._directory} already exists, and isn't empty. Please choose a different export directory, or"
                                 " delete all the contents of the specified directory.")

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_list=None, clear_devices=False, init_op=None,
                                     train_op=None, strip_default_attrs=False, saver=None, main_op=None, legacy_init_op=None,
                                     assets_collection=None):
        if self._given is not None:
            raise AssertionError("Graph state including variables and assets has already been saved.")
        graph = sess.graph

        def tensors(infos):
            return [(name, graph.get_tensor_by_name(info.name)) for name, info in infos.items()]

        signatures = [(name, s.method_name, tensors(s.inputs), tensors(s.outputs)) for name, s in (signature_def_map or {}).items()]
        self._given = (graph._root, sess, list(tags), signatures, main_op or legacy_init_op or init_op)

    def add_meta_graph(self, *args, **kwargs):
        raise NotImplementedError("a SavedModel of several graphs")

    def save(self, as_text=False):
        if self._given is None:
            raise AssertionError("Variables and assets have not been saved yet. Please invoke `add_meta_graph_and_variables()` first.")
        root, sess, tags, signatures, init = self._given
        _engine.save_saved_model(root, sess, self._directory, tags, signatures, init)
        return os.path.join(self._directory, "saved_model.pb").encode()
