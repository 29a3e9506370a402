"""Checkpoints: the engine's, which TensorFlow reads and writes too."""

import os

from .. import _engine
from .._graphs import get_default_graph


class Saver:
    """Saves and restores variables."""

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0, name=None,
                 restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False, write_version=2,
                 pad_step_number=False, save_relative_paths=False, filename=None):
        if var_list is not None:
            items = var_list.items() if isinstance(var_list, dict) else ((v.op.name, v) for v in var_list)
            var_list = list(items)
            if not var_list:
                raise ValueError("No variables to save")
        elif not get_default_graph()._root.global_variables():
            raise ValueError("No variables to save")
        self._saver = _engine.Saver(get_default_graph()._root, var_list, max_to_keep or 0, keep_checkpoint_every_n_hours, True)
        self._last, self._keep = [], max_to_keep or 0

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta", write_meta_graph=True, write_state=True,
             strip_default_attrs=False, save_debug_info=False):
        """Saves to `save_path`, or with a step to `save_path-step`; returns that prefix."""
        if global_step is not None and not isinstance(global_step, int):
            global_step = sess.run(global_step) if hasattr(global_step, "graph") else global_step
        saved = os.fspath(self._saver.save(sess, save_path, None if global_step is None else int(global_step)))
        self._last.append(saved)
        if self._keep:
            del self._last[:-self._keep]
        return saved

    def restore(self, sess, save_path):
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if not checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        self._saver.restore(sess, save_path)

    @property
    def last_checkpoints(self):
        return list(self._last)


def checkpoint_exists(checkpoint_prefix):
    return os.path.exists(os.fspath(checkpoint_prefix) + ".index")


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    found = _engine.latest_checkpoint(checkpoint_dir)
    return None if found is None else os.fspath(found)


class CheckpointState:
    """The checkpoints of a directory, the newest last."""

    def __init__(self, paths):
        self.model_checkpoint_path, self.all_model_checkpoint_paths = paths[-1], paths


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    paths = [os.fspath(p) for p in _engine.checkpoints(checkpoint_dir)]
    return CheckpointState(paths) if paths else None
