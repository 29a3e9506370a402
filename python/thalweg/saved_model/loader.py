"""Reading SavedModels into a session's graph."""

import os

from .. import _engine
from .signature_def_utils import SignatureDef
from .utils import TensorInfo


class _MetaGraph:
    def __init__(self, signatures):
        self.signature_def = signatures


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Adds the model to the session's graph, and restores its variables."""
    if import_scope:
        raise NotImplementedError("load with an import_scope")
    found = _engine.load_saved_model(sess.graph._root, sess, os.fspath(export_dir), list(tags))
    infos = lambda pairs: {name: TensorInfo(tensor) for name, tensor in pairs}
    return _MetaGraph({name: SignatureDef(infos(inputs), infos(outputs), method) for name, method, inputs, outputs in found})


def maybe_saved_model_directory(export_dir):
    return any(os.path.exists(os.path.join(os.fspath(export_dir), name)) for name in ("saved_model.pb", "saved_model.pbtxt"))
